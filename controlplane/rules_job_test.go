package controlplane_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// A job is suspended, and the job controller says so.
func TestSuspendedRests(t *testing.T) {
	state := func(conditions string) string {
		return `jobs/r/j {"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"r","name":"j","uid":"j"},"spec":{"suspend":true},"status":{"conditions":[` + conditions + "]}}\n"
	}
	const suspended, resumed, finished = `{"type":"Suspended","status":"True"}`, `{"type":"Suspended","status":"False"}`, `{"type":"Complete","status":"True"}`
	member := func(metadata, phase string) string {
		return "pods/r/p " + pod("p", `,"namespace":"r","name":"p"`+metadata+owned("Job", "j"), "", phase) + "\n"
	}
	tried := importer.Exchange{Kind: model.Delete, Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: "p"}}, Client: "manager-0", Call: 2}
	other, byOther, later, update := tried, tried, tried, tried
	other.Scope.Name, byOther.Client, later.Call, update.Kind = "q", "manager-1", 1<<62, model.Update
	for name, row := range map[string]struct {
		lines, controller, last string
		requests                []importer.Exchange
		broken                  int
	}{
		"with a pod that runs":          {state("") + member("", "Running"), "job-controller", state(suspended), nil, 1},
		"with a pod that begins":        {state(resumed) + member("", "Pending"), "job-controller", state(suspended), nil, 1},
		"without pods":                  {state(""), "job-controller", state(suspended), nil, 0},
		"with a pod that goes":          {state("") + member("", "Running") + member(dying, "Running"), "job-controller", state(suspended), nil, 0},
		"with a pod that is over":       {state("") + member("", "Succeeded"), "job-controller", state(suspended), nil, 0},
		"with a pod of another one":     {state("") + strings.ReplaceAll(member("", "Running"), `"uid":"j"`, `"uid":"k"`), "job-controller", state(suspended), nil, 0},
		"with a pod that nobody knows":  {state("") + "!" + member("", "Running"), "job-controller", state(suspended), nil, 0},
		"not suspended":                 {state("") + member("", "Running"), "job-controller", state(resumed), nil, 0},
		"finished":                      {state("") + member("", "Running"), "job-controller", state(finished), nil, 0},
		"suspended before":              {state(suspended) + member("", "Running"), "job-controller", state(suspended), nil, 0},
		"another one of its name":       {strings.ReplaceAll(state(suspended), `"uid":"j"`, `"uid":"k"`) + member("", "Running"), "job-controller", state(suspended), nil, 1},
		"by a user":                     {state("") + member("", "Running"), "kubectl", state(suspended), nil, 0},
		"after a deletion in vain":      {state("") + member("", "Running"), "job-controller", state(suspended), []importer.Exchange{tried}, 0},
		"after a deletion of another":   {state("") + member("", "Running"), "job-controller", state(suspended), []importer.Exchange{other}, 1},
		"after an update":               {state("") + member("", "Running"), "job-controller", state(suspended), []importer.Exchange{update}, 1},
		"after a deletion by another":   {state("") + member("", "Running"), "job-controller", state(suspended), []importer.Exchange{byOther}, 1},
		"before it asks for a deletion": {state("") + member("", "Running"), "job-controller", state(suspended), []importer.Exchange{later}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			seen := recorded(t, at(row.lines, row.controller, row.last))
			for _, request := range row.requests {
				seen.Requests["pods"] = append(seen.Requests["pods"], &importer.Told{Exchange: request})
			}
			require.Equal(t, row.broken, brokenOf(t, seen, "SuspendedRests"))
		})
	}
}
