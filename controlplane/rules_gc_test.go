package controlplane_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who takes away what has held an object leaves the rest.
func TestFinalizersHold(t *testing.T) {
	held := func(finalizers string) string {
		return `configmaps/r/o {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"o","uid":"o"` + dying + `,"finalizers":[` + finalizers + "]}}\n"
	}
	const one, two, gone = `"f"`, `"f","g"`, "configmaps/r/o -"
	for name, row := range map[string]struct {
		lines, last string
		broken      int
	}{"by one": {held(one), gone, 0}, "by two": {held(two), gone, 1}, "by one of two": {held(two), held(one), 0}, "by none": {held(""), gone, 0}} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, "namespace-controller", row.last)), "FinalizersHold"))
		})
	}
}

// A replica set that is deleted in the foreground waits for the pods that say so.
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
		"goes first":                        {set(dying+awaits) + member(blocks), collector, gone, 1},
		"need not wait any more":            {set(dying+others) + member(blocks), collector, set(dying + left), 1},
		"still waits":                       {set(dying+others) + member(blocks), collector, set(dying + awaits), 0},
		"another one of its name":           {set(dying+awaits) + member(blocks), collector, strings.ReplaceAll(set(dying+awaits), `"uid":"s"`, `"uid":"t"`), 1},
		"goes last":                         {set(dying+awaits) + member(blocks) + "pods/r/p -\n", collector, gone, 0},
		"a pod that it need not wait for":   {set(dying+awaits) + member(owner), collector, gone, 0},
		"a pod of another one":              {set(dying+awaits) + member(strings.Replace(blocks, `"uid":"s"`, `"uid":"t"`, 1)), collector, gone, 0},
		"a pod that nobody knows":           {set(dying+awaits) + "!" + member(blocks), collector, gone, 0},
		"a pod that has just got its owner": {set(dying+awaits) + member("") + "!" + member(blocks), collector, gone, 0},
		"a pod of some time":                {set(dying+awaits) + member(blocks) + "!" + strings.Replace(member(blocks), "Running", "Failed", 1), collector, gone, 1},
		"not deleted":                       {set(awaits) + member(blocks), collector, set(""), 0},
		"deleted in the background":         {set(dying+left) + member(blocks), collector, gone, 0},
		"by a user":                         {set(dying+awaits) + member(blocks), "kubectl", gone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, row.last)), "OwnerIsLast"))
		})
	}
}
