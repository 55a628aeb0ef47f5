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

// The job controller sets the condition Suspended of a job.
func TestSuspendedRests(t *testing.T) {
	member := "pods/r/p " + pod("p", `,"namespace":"r","name":"p"`+owned("Job", "j"), "", "Running") + "\n"
	state := func(condition, active string) string {
		return member + `jobs/r/j {"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"r","name":"j","uid":"j"},"status":{"active":` + active + `,"conditions":[` + condition + "]}}\n"
	}
	const suspended, resumed, finished = `{"type":"Suspended","status":"True"}`, `{"type":"Suspended","status":"False"}`, `{"type":"Complete","status":"True"}`
	last := func(condition, active string) string { return strings.TrimPrefix(state(condition, active), member) }
	failed := importer.Exchange{Kind: model.Delete, Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: "p"}}, Client: "manager-0", Call: 2, Err: model.Unknown}
	ok, gone, patched, read, other, space, byOther, later := failed, failed, failed, failed, failed, failed, failed, failed
	ok.Err, gone.Err, patched.Kind, read.Kind = model.OK, model.NotFound, model.Update, model.Get
	other.Scope.Name, space.Scope.Namespace, byOther.Client, later.Call = "q", "b", "manager-1", 1<<62
	for name, row := range map[string]struct {
		lines, controller, last string
		requests                []importer.Exchange
		broken                  int
	}{
		"with a pod":                            {state("", "1"), "job-controller", last(suspended, "1"), nil, 1},
		"with a pod, resumed before":            {state(resumed, "1"), "job-controller", last(suspended, "1"), nil, 1},
		"without pods":                          {state("", "1"), "job-controller", last(suspended, "0"), nil, 0},
		"not suspended":                         {state("", "1"), "job-controller", last(resumed, "1"), nil, 0},
		"finished":                              {state("", "1"), "job-controller", last(finished, "1"), nil, 0},
		"suspended before":                      {state(suspended, "1"), "job-controller", last(suspended, "1"), nil, 0},
		"recreated job":                         {strings.ReplaceAll(state(suspended, "1"), `"uid":"j"`, `"uid":"k"`), "job-controller", last(suspended, "1"), nil, 1},
		"by a user":                             {state("", "1"), "kubectl", last(suspended, "1"), nil, 0},
		"after a deletion that has failed":      {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{failed}, 0},
		"after a patch that has failed":         {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{patched}, 0},
		"after a read that has failed":          {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{read}, 1},
		"after a deletion":                      {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{ok}, 1},
		"after a deletion of an absent pod":     {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{gone}, 1},
		"after a deletion of another pod":       {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{other}, 1},
		"after a deletion in another namespace": {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{space}, 1},
		"after a deletion by another manager":   {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{byOther}, 1},
		"before a deletion fails":               {state("", "1"), "job-controller", last(suspended, "1"), []importer.Exchange{later}, 1},
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

// A job that was recreated gets a pod too many while pods of its predecessor are left.
func TestAJobForgetsItsPods(t *testing.T) {
	of := func(name, owner, uid string) string {
		reference := `,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"` + owner + `","uid":"` + uid + `","controller":true}]`
		return "pods/r/" + name + " " + pod(name, `,"namespace":"r","name":"`+name+`"`+reference+`,"annotations":{"batch.kubernetes.io/job-completion-index":"0"}`, "", "") + "\n"
	}
	recreated := "jobs/r/j " + job("") + "\n"
	twice := of("b", "j", "j") + of("c", "j", "j")
	for name, row := range map[string]struct{ states, broken string }{
		"pods of the predecessor are left":            {of("a", "j", "i") + recreated + twice, ""},
		"they go meanwhile":                           {of("a", "j", "i") + recreated + "pods/r/a -\n" + twice, ""},
		"they went before":                            {of("a", "j", "i") + "pods/r/a -\n" + recreated + twice, "NoExtraWork"},
		"it has no predecessor":                       {recreated + twice, "NoExtraWork"},
		"pods of another job are left":                {of("a", "k", "k") + recreated + twice, "NoExtraWork"},
		"pods of a job in another namespace are left": {strings.ReplaceAll(strings.ReplaceAll(of("a", "j", "i"), "/r/", "/s/"), `"namespace":"r"`, `"namespace":"s"`) + recreated + twice, "NoExtraWork"},
	} {
		t.Run(name, func(t *testing.T) { breaks(t, simtest.Seen{Committed: states(t, row.states)}, row.broken) })
	}
	t.Setenv(mutant.Variable, "fix-finding-64")
	breaks(t, simtest.Seen{Committed: states(t, of("a", "j", "i")+recreated+twice)}, "NoExtraWork")
}
