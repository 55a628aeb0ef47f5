package controlplane_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// An object with two finalizers must not be removed.
func TestFinalizersHold(t *testing.T) {
	held := func(finalizers string) string {
		return `configmaps/r/o {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"o","uid":"o"` + dying + `,"finalizers":[` + finalizers + "]}}\n"
	}
	const one, two, gone = `"f"`, `"f","g"`, "configmaps/r/o -"
	for name, row := range map[string]struct {
		lines, last string
		broken      int
	}{"one finalizer": {held(one), gone, 0}, "one finalizer, not being deleted": {strings.Replace(held(one), dying, "", 1), gone, 1}, "two finalizers": {held(two), gone, 1}, "one of two removed": {held(two), held(one), 0}, "no finalizer": {held(""), gone, 0}} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, "namespace-controller", row.last)), "FinalizersHold"))
		})
	}
	t.Run("two finalizers, added while the last one was removed (finding 19)", func(t *testing.T) {
		seen := recorded(t, at(held(one)+held(two), "namespace-controller", gone))
		operations := seen.Histories["configmaps"].Operations
		operations[2].Call = operations[1].Call
		require.Zero(t, brokenOf(t, seen, "FinalizersHold"))
		// The same by a foreground deletion, and by an update that is answered with the object.
		added, removed := operations[1], operations[2]
		added.Kind, removed.Kind, removed.ResultRV, removed.Objects = model.Delete, model.Delete, 0, []model.Object{{UID: "o", RV: 1}}
		seen.Histories["configmaps"].Operations = operations[:1]
		require.Equal(t, 1, brokenOf(t, seen, "FinalizersHold"))
		request := importer.Request{Scope: added.Scope}
		seen.Requests["configmaps"] = []*importer.Told{
			{Exchange: importer.Exchange{Kind: model.Delete, Request: request, Call: added.Call, Return: added.Return}, Op: added},
			{Exchange: importer.Exchange{Kind: model.Update, Request: request, Call: removed.Call, Return: removed.Return}, Op: removed},
		}
		require.Zero(t, brokenOf(t, seen, "FinalizersHold"))
		// Of two deletions, it is unknown which one has written.
		update, scope := *seen.Requests["configmaps"][1], model.Scope{Namespace: "r", Name: "o"}
		for end, broken := range map[int64]int{removed.Call: 1, removed.Call + 1: 0} {
			one, other := *seen.Requests["configmaps"][0], *seen.Requests["configmaps"][0]
			one.Return, other.Return, one.Op.Return, other.Op.Return = end, end, end, end
			one.Scope, other.Scope, update.Scope = scope, scope, scope
			asked := seen
			asked.Requests = map[string][]*importer.Told{"configmaps": {&one, &other, &update}}
			require.Equal(t, broken, brokenOf(t, asked, "FinalizersHold"))
		}
		seen.Requests["configmaps"][1].Op.Objects[0].UID = "another"
		require.Equal(t, 1, brokenOf(t, seen, "FinalizersHold"))
	})
}

// A request removes an object with a finalizer that is not being deleted: it was created, or got the finalizer, while the request was under way.
func TestWhatADeletionRemoves(t *testing.T) {
	held := func(finalizer string) string {
		return `configmaps/r/o {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"o","uid":"o","finalizers":[` + finalizer + "]}}\n"
	}
	created, updated := held(`"f"`), held("")+held(`"f"`)
	for name, row := range map[string]struct {
		lines    string
		kind     model.Kind
		underWay bool
		fix      string
		broken   int
		note     string
	}{
		"created meanwhile":             {created, model.Delete, true, "", 0, "(finding 70)"},
		"created meanwhile, fixed":      {created, model.Delete, true, "fix-finding-70", 1, ""},
		"created before":                {created, model.Delete, false, "", 1, ""},
		"finalizer added meanwhile":     {updated, model.Delete, true, "fix-finding-70", 0, "#77988"},
		"finalizer added before":        {updated, model.Delete, false, "", 1, ""},
		"one of a collection":           {updated, model.Delete, true, "", 0, "#77988"},
		"a collection deleted later":    {updated, model.Delete, false, "", 1, ""},
		"a collection deleted earlier":  {updated, model.Delete, true, "", 1, ""},
		"created meanwhile, an update":  {created, model.Update, true, "", 0, "(finding 19)"},
		"created before, and an update": {created, model.Update, false, "", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(mutant.Variable, row.fix)
			seen := recorded(t, at(row.lines, "namespace-controller", "configmaps/r/o -"))
			operations, requests := seen.Histories["configmaps"].Operations, seen.Requests["configmaps"]
			last := len(operations) - 1
			if row.underWay {
				operations[last].Call = operations[last-1].Call
			}
			request := requests[len(requests)-1] // the first is a watch
			request.Kind, request.Call = row.kind, operations[last].Call
			if strings.Contains(name, "collection") { // its answer names no object
				request.Scope, request.Return = model.Scope{Namespace: "r"}, operations[last].Return
				seen.Histories["configmaps"].Operations = operations[:last]
				if strings.Contains(name, "earlier") {
					request.Return = operations[last-1].Call
				}
			}
			var notes []string
			seen.Unjudged = func(_, why string) { notes = append(notes, why) }
			require.Equal(t, row.broken, brokenOf(t, seen, "FinalizersHold"))
			require.Contains(t, strings.Join(notes, ""), row.note)
			require.Equal(t, row.note == "", len(notes) == 0)
		})
	}
}

// The foreground deletion of a replica set waits for pods with blockOwnerDeletion.
func TestOwnerIsLast(t *testing.T) {
	set := func(metadata string) string {
		return `replicasets/r/s {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"r","name":"s","uid":"s"` + metadata + "}}\n"
	}
	const (
		awaits, others = `,"finalizers":["foregroundDeletion"]`, `,"finalizers":["foregroundDeletion","f"]`
		left, gone     = `,"finalizers":["f"]`, "replicasets/r/s -"
		collector      = "generic-garbage-collector"
	)
	owner := strings.Replace(owned("ReplicaSet", "s"), `"apiVersion":"v1"`, `"apiVersion":"apps/v1","name":"s"`, 1)
	blocks := strings.Replace(owner, `"controller"`, `"blockOwnerDeletion":true,"controller"`, 1)
	member := func(owners string) string {
		return "pods/r/p " + pod("p", `,"namespace":"r","name":"p"`+owners, "", "Running") + "\n"
	}
	for name, row := range map[string]struct {
		lines, controller, last string
		broken                  int
	}{
		"owner removed first":            {set(dying+awaits) + member(blocks), collector, gone, 1},
		"finalizer removed first":        {set(dying+others) + member(blocks), collector, set(dying + left), 1},
		"still waiting":                  {set(dying+others) + member(blocks), collector, set(dying + awaits), 0},
		"recreated owner":                {set(dying+awaits) + member(blocks), collector, strings.ReplaceAll(set(dying+awaits), `"uid":"s"`, `"uid":"t"`), 1},
		"owner removed last":             {set(dying+awaits) + member(blocks) + "pods/r/p -\n", collector, gone, 0},
		"pod without blockOwnerDeletion": {set(dying+awaits) + member(owner), collector, gone, 0},
		"pod of another owner":           {set(dying+awaits) + member(strings.Replace(blocks, `"uid":"s"`, `"uid":"t"`, 1)), collector, gone, 0},
		"pod not observed":               {set(dying+awaits) + "!" + member(blocks), collector, gone, 0},
		"adoption not observed":          {set(dying+awaits) + member("") + "!" + member(blocks), collector, gone, 0},
		"later change not observed":      {set(dying+awaits) + member(blocks) + "!" + strings.Replace(member(blocks), "Running", "Failed", 1), collector, gone, 1},
		"owner not deleted":              {set(awaits) + member(blocks), collector, set(""), 0},
		"background deletion":            {set(dying+left) + member(blocks), collector, gone, 0},
		"by a user":                      {set(dying+awaits) + member(blocks), "kubectl", gone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, row.last)), "OwnerIsLast"))
		})
	}
}

// An API server that does not serve a custom resource yet tells the garbage collector that the owner of a config map is not there.
func TestAnOwnerIsNotServed(t *testing.T) {
	const (
		owner = `example.com/customs/r/o {"apiVersion":"example.com/v1","kind":"Custom","metadata":{"namespace":"r","name":"o","uid":"o"}}` + "\n"
		owned = `configmaps/r/d {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"d","uid":"d","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Custom","name":"o","uid":"o"}]}}` + "\n"
	)
	answer := importer.Exchange{Kind: model.Get, Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: "o"}}, Client: "manager-0", Code: 404}
	asked := func(change func(*importer.Exchange)) *importer.Told {
		told := &importer.Told{Exchange: answer}
		change(&told.Exchange)
		return told
	}
	seen := func(resource string, told *importer.Told) simtest.Seen {
		seen := recorded(t, at(space+owner+owned, "generic-garbage-collector", "configmaps/r/d -"))
		seen.Requests[resource] = append(seen.Requests[resource], told)
		return seen
	}
	const customs = "customs.example.com"
	for name, row := range map[string]struct {
		resource string
		change   func(*importer.Exchange)
		broken   int
	}{
		"not served":         {customs, func(*importer.Exchange) {}, 0},
		"served":             {customs, func(x *importer.Exchange) { x.Code = 200 }, 1},
		"asked by another":   {customs, func(x *importer.Exchange) { x.Client = "manager-1" }, 1},
		"asked later":        {customs, func(x *importer.Exchange) { x.Return = 1 << 62 }, 1},
		"another owner":      {customs, func(x *importer.Exchange) { x.Scope.Name = "p" }, 1},
		"another namespace":  {customs, func(x *importer.Exchange) { x.Scope.Namespace = "s" }, 1},
		"another resource":   {"secrets", func(*importer.Exchange) {}, 1},
		"a list, not served": {customs, func(x *importer.Exchange) { x.Kind = model.List }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, seen(row.resource, asked(row.change)), "OwnedIsKept"))
		})
	}
	t.Setenv(mutant.Variable, "fix-finding-66")
	require.Equal(t, 1, brokenOf(t, seen(customs, asked(func(*importer.Exchange) {})), "OwnedIsKept"))
}
