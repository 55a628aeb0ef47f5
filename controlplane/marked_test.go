package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// At 60 s the node controller deletes a pod whose node has no taint, which breaks EvictedByTaint. The history does not say who set the deletionTimestamp.
func TestMarks(t *testing.T) {
	const second = int64(time.Second)
	deletion := func(name string, call, returns, rv int64, code int) *importer.Told {
		asked := importer.Exchange{Kind: model.Delete, Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: name}}, Client: "user", Code: code, Call: call * second, Return: returns * second}
		told := &importer.Told{Exchange: asked, Op: model.Operation{Kind: model.Delete, Client: "user", Scope: asked.Scope, Call: asked.Call, Return: asked.Return, ResultRV: rv}}
		if code != 200 {
			told.Op.Err = model.Unknown
		}
		return told
	}
	eviction := func(call, returns int64, code int) *importer.Told {
		told := deletion("p", call, returns, 0, code)
		told.Kind, told.Subresource, told.Op = model.Create, "eviction", model.Operation{}
		return told
	}
	for name, row := range map[string]struct {
		also   *importer.Told
		broken int
	}{
		"no other request":                {nil, 1},
		"earlier eviction":                {eviction(50, 51, 201), 0},
		"refused eviction":                {eviction(50, 51, 429), 1},
		"later eviction":                  {eviction(70, 71, 201), 1},
		"eviction long before":            {eviction(-70, -60, 201), 1},
		"deletion that timed out":         {deletion("p", 50, 51, 0, 0), 0},
		"deletion answered with 500":      {deletion("p", 50, 51, 0, 500), 0},
		"deletion with another revision":  {deletion("p", 50, 51, 1, 200), 1},
		"deletion of another pod":         {deletion("q", 50, 51, 0, 0), 1},
		"deletion of all pods":            {deletion("", 50, 51, 0, 200), 0},
		"later deletion":                  {deletion("p", 70, 71, 3, 200), 1},
		"another deletion, same revision": {deletion("p", 50, 51, 3, 200), 0},
	} {
		t.Run(name, func(t *testing.T) {
			seen := recorded(t, at("pods/r/p "+pod("p", "", bound, "Running")+"\nminions/n "+`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"}}`+"\n", "node-controller", "pods/r/p "+pod("p", dying, bound, "Running")))
			history, requests := seen.Histories["pods"], seen.Requests["pods"]
			marked, last := requests[len(requests)-1], history.Operations[len(history.Operations)-1]
			history.Operations = history.Operations[:len(history.Operations)-1]
			last.Kind, last.Scope = model.Delete, model.Scope{Namespace: "r", Name: "p"}
			marked.Kind, marked.Code, marked.Scope, marked.Op = model.Delete, 200, last.Scope, last
			if row.also != nil {
				seen.Requests["pods"] = append(requests, row.also)
			}
			require.Equal(t, row.broken, brokenOf(t, seen, "EvictedByTaint"))
		})
	}
}
