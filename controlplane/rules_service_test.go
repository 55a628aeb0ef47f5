package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// An address may have been released by an update that was refused, or is under way when another service is created with it, or by a refused create.
func TestReleasedAddress(t *testing.T) {
	const refused, done = model.Conflict, model.OK
	for name, row := range map[string]struct {
		kind        model.Kind
		of          string
		call, ended int64
		err         model.Code
		fixed       string
		broken      int
	}{
		"a refused create":          {model.Create, "c", 1, 12, refused, "", 0},
		"a refused create before a": {model.Create, "c", 1, 2, refused, "", 1},
		"a refused create after b":  {model.Create, "c", 21, 22, refused, "", 1},
		"a create without answer":   {model.Create, "c", 1, model.Pending, model.Unknown, "", 0},
		"another create":            {model.Create, "c", 1, 12, done, "", 1},
		"a refused delete":          {model.Delete, "a", 1, 12, refused, "", 1},
		"a refused update":          {model.Update, "a", 1, 2, refused, "", 0},
		"an update under way":       {model.Update, "a", 1, 11, done, "", 0},
		"an earlier update":         {model.Update, "a", 1, 2, done, "", 1},
		"a later update":            {model.Update, "a", 21, 22, refused, "", 1},
		"an update of another":      {model.Update, "c", 1, 2, refused, "", 1},
		"with finding 34's fix":     {model.Update, "a", 1, 2, refused, "fix-finding-34", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", row.fixed)
			request := importer.Told{Exchange: importer.Exchange{Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: row.of}}, Kind: row.kind, Call: row.call, Return: row.ended, Err: row.err}}
			require.Equal(t, row.broken, brokenOf(t, simtest.Seen{
				Committed: states(t, service("a", ip, "0")+service("b", ip, "0")+service("b", ip, "0")), // b is updated later
				Requests:  map[string][]*importer.Told{"services": {&request}},
				Histories: map[string]*model.History{"services": {Operations: []model.Operation{
					{Kind: model.Create, Call: 3, Return: 4, ResultRV: 1}, {Kind: model.Create, Call: 10, Return: 20, ResultRV: 2}, {Kind: model.Update, Call: 30, Return: 40, ResultRV: 3},
				}}},
			}, "UniqueAddress"))
		})
	}
}

// A create that fails although it stores the service may have released what the service has.
func TestAddressOfFailedCreate(t *testing.T) {
	for name, row := range map[string]struct {
		stored, of string // the service that no answered create has stored, and the one that the failed request names
		err        model.Code
		fixed      string
		broken     int
	}{
		"of a":                     {"a", "a", model.Unknown, "", 0},
		"of a, fixed":              {"a", "a", model.Unknown, "fix-finding-37", 1},
		"of an unknown one, fixed": {"a", "", model.Unknown, "fix-finding-37", 1},
		"of b":                     {"b", "b", model.Unknown, "", 0},
		"of b, fixed":              {"b", "b", model.Unknown, "fix-finding-37", 1},
		"of a, refused":            {"a", "a", model.AlreadyExists, "fix-finding-37", 0}, // finding 36
		"of another one":           {"a", "c", model.Unknown, "fix-finding-37", 0},       // finding 36
		"of a, stored by another":  {"b", "a", model.Unknown, "fix-finding-37", 0},       // finding 36
		"of b, stored by another":  {"a", "b", model.Unknown, "fix-finding-37", 0},       // finding 36
		"that succeeded":           {"a", "c", model.OK, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", row.fixed)
			request := importer.Told{Exchange: importer.Exchange{Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: row.of}}, Kind: model.Create, Call: 1, Return: 5, Err: row.err}}
			answered := map[string]model.Operation{"a": {Kind: model.Create, Call: 10, Return: 20, ResultRV: 2}, "b": {Kind: model.Create, Call: 3, Return: 4, ResultRV: 1}}
			require.Equal(t, row.broken, brokenOf(t, simtest.Seen{
				Committed: states(t, service("a", ip, "0")+service("b", ip, "0")),
				Requests:  map[string][]*importer.Told{"services": {&request}},
				Histories: map[string]*model.History{"services": {Operations: []model.Operation{answered[row.stored]}}},
			}, "UniqueAddress"))
		})
	}
}

// What shares an address because of a finding loses it when the other one is deleted, and a third one may get it.
func TestSharedAddressIsReleased(t *testing.T) {
	for fixed, broken := range map[string]int{"": 0, "fix-finding-37": 1} {
		t.Run(fixed, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", fixed)
			failed := importer.Told{Exchange: importer.Exchange{Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: "a"}}, Kind: model.Create, Call: 1, Return: 5, Err: model.Unknown}}
			require.Equal(t, broken, brokenOf(t, simtest.Seen{
				Committed: states(t, service("a", ip, "0")+service("b", ip, "0")+"services/specs/r/a -\n"+service("c", ip, "0")),
				Requests:  map[string][]*importer.Told{"services": {&failed}},
				Histories: map[string]*model.History{"services": {Operations: []model.Operation{
					{Kind: model.Create, Call: 10, Return: 20, ResultRV: 2}, {Kind: model.Create, Call: 30, Return: 40, ResultRV: 4},
				}}},
			}, "UniqueAddress"))
		})
	}
}

// A service that shares its address because of a finding keeps it: that is not reported again as overdue.
func TestSharedAddressIsNotedOnce(t *testing.T) {
	for name, row := range map[string]struct {
		err    model.Code
		broken int
	}{"a refused create": {model.AlreadyExists, 0}, "no refused request": {model.OK, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", "")
			w := settled()
			w.address.Spec.ParentRef.Name = "other"
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.ErrorContains(t, late, `which is allocated to "r/other"`)
			plane := &controlplane.Plane{}
			plane.SetOverdue(late)
			create := importer.Told{Exchange: importer.Exchange{Kind: model.Create, Call: 1, Return: 2, Err: row.err}}
			broken, err := plane.Broken(simtest.Seen{
				Committed: states(t, service("other", ip, "0")+service("service", ip, "0")),
				Requests:  map[string][]*importer.Told{"services": {&create}},
			})
			require.NoError(t, err)
			require.Len(t, broken, row.broken)
		})
	}
}
