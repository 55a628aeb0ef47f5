package controlplane_test

import (
	"testing"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// A pod of a stateful set is created again, from another revision.
func TestBelowPartition(t *testing.T) {
	set := func(strategy, more, current string) string {
		return `user kubectl statefulsets/r/s {"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"uid":"s"},"spec":{"replicas":3,"updateStrategy":{` + strategy + `}` + more +
			`},"status":{"currentRevision":"` + current + "\"}}\n"
	}
	rolling := func(partition string) string {
		return `"type":"RollingUpdate","rollingUpdate":{"partition":` + partition + "}"
	}
	created := func(uid, name, revision string) string {
		return "manager-0 statefulset-controller pods/r/" + name + " " +
			pod(uid, `,"namespace":"r","name":"`+name+`","labels":{"controller-revision-hash":"`+revision+`"}`+owned("StatefulSet", "s"), "", "") + "\n"
	}
	const gone, revision = "user kubectl pods/r/s-1 -\n", `manager-0 statefulset-controller controllerrevisions/r/a {"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"uid":"a"}}` + "\n"
	moves := "manager-0 statefulset-controller " + set(rolling("2"), "", "b")[len("user kubectl "):]
	partitioned := set(rolling("2"), "", "a")
	again := created("u", "s-1", "a") + gone + created("v", "s-1", "b")
	refused := beforehand(model.Create, "statefulset-controller", "b", 1, 500)
	refused.Err, refused.Scope.Namespace = model.Unknown, "r"
	elsewhere := *refused
	elsewhere.Scope.Namespace = "b"
	for name, row := range map[string]struct {
		lines   string
		refused *importer.Told
		fixed   string
		rule    string
	}{
		"another revision":                       {partitioned + revision + again, nil, "", "BelowPartition"},
		"the same revision":                      {partitioned + created("u", "s-1", "a") + gone + created("v", "s-1", "a"), nil, "", ""},
		"another pod":                            {partitioned + created("u", "s-0", "a") + created("v", "s-1", "b"), nil, "", ""},
		"not below the partition":                {set(rolling("1"), "", "a") + again, nil, "", ""},
		"not below an earlier partition":         {set(rolling("1"), "", "a") + partitioned + again, nil, "", ""},
		"OnDelete":                               {set(`"type":"OnDelete"`, "", "a") + again, nil, "", ""},
		"ordinals from 2":                        {set(rolling("2"), `,"ordinals":{"start":2}`, "a") + again, nil, "", ""},
		"not wanted for a while":                 {set(rolling("2"), `,"replicas":1`, "a") + partitioned + again, nil, "", ""},
		"revision lost, and no write failed":     {partitioned + again, nil, "", "BelowPartition"},
		"revision lost, a write failed":          {partitioned + again, refused, "", ""},
		"revision lost, another's write failed":  {partitioned + again, &elsewhere, "", "BelowPartition"},
		"revision lost, with the fix":            {partitioned + again, refused, "fix-finding-38", "BelowPartition"},
		"revision not observed":                  {partitioned + "!" + revision + moves + again, nil, "", ""},
		"revision not observed, with the fix":    {partitioned + "!" + revision + moves + again, nil, "fix-finding-39", "BelowPartition"},
		"revision observed":                      {partitioned + revision + moves + again, nil, "", "BelowPartition"},
		"revision not observed, a user moved it": {partitioned + "!" + revision + set(rolling("2"), "", "b") + again, nil, "", "BelowPartition"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", row.fixed)
			seen := recorded(t, row.lines)
			if row.refused != nil {
				seen.Requests["controllerrevisions.apps"] = append(seen.Requests["controllerrevisions.apps"], row.refused)
			}
			breaks(t, seen, row.rule)
		})
	}
}
