package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestGeneratedHistoriesPass draws histories of some sizes. They must hold what
// was asked for, and something of everything.
func TestGeneratedHistoriesPass(t *testing.T) {
	for seed := range uint64(5) {
		h := generate(size{operations: 2000, events: 20_000}, seed)
		verdict := linearizability.Check(h, linearizability.DefaultConfig())
		require.Equal(t, linearizability.Passed, verdict.Outcome, "%s %v", verdict.Reason, verdict.Err())
		counts := verdict.Counts
		require.Len(t, h.Operations, 2000)
		require.GreaterOrEqual(t, counts.Events, 20_000)
		for name, count := range map[string]int{"gets": counts.Gets, "lists": counts.Lists, "unknown": counts.UnknownWrites,
			"blocks": counts.Blocks, "resumed": counts.Resumed, "bookmarks": counts.Bookmarks, "delivered": counts.Delivered} {
			require.Positive(t, count, name)
		}
	}
}

// TestALostEventIsNoticed sees to it that what is measured is a check.
func TestALostEventIsNoticed(t *testing.T) {
	h := generate(size{operations: 2000, events: 20_000}, 1)
	for i := range h.Streams {
		s := &h.Streams[i]
		if k := slices.IndexFunc(s.Events, func(e model.Event) bool { return e.Type == model.Modified }); k >= 0 && k < len(s.Events)-1 {
			s.Events = slices.Delete(s.Events, k, k+1)
			break
		}
	}
	_, err := judge(h)
	require.ErrorIs(t, err, linearizability.Reliable)
}

func TestPlainPorcupineJudgesToo(t *testing.T) {
	plain := plainly(generate(size{operations: 1000, events: 1000}, 1))
	for _, m := range []porcupine.Model{wholeStore, oneRegister} {
		require.Equal(t, string(porcupine.Ok), search("", m, plain, time.Minute).Result)
		for i := range plain {
			if p := &plain[i]; p.kind == model.Get && p.value != 0 {
				p.value++ // nobody can have read that
				require.Equal(t, string(porcupine.Illegal), search("", m, plain, time.Minute).Result)
				p.value--
				break
			}
		}
	}
}

func TestRunPrintsFigures(t *testing.T) {
	var out, errors strings.Builder
	require.Equal(t, 0, run([]string{"-operations", "1000", "-events", "4000", "-json"}, &out, &errors), errors.String())
	var found report
	require.NoError(t, json.Unmarshal([]byte(out.String()), &found))
	require.Len(t, found.Oracle, 3)
	require.Positive(t, found.PeakMemory)
	require.NotEmpty(t, found.Plain)

	out.Reset()
	require.Equal(t, 0, run([]string{"-operations", "1000", "-events", "4000"}, &out, &errors))
	require.Contains(t, out.String(), "events a CPU second")
	require.Equal(t, 2, run([]string{"-events", "10"}, &out, &errors))
	require.Contains(t, errors.String(), "expected at least 1000")
}
