package simrun

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/judge"
)

// simulated returns the history of a run.
func simulated(t *testing.T, arguments ...string) *model.History {
	t.Helper()
	read, err := judge.Read(recordRun(t, arguments...), nil)
	require.NoError(t, err)
	return read.History
}

// windowsDuring returns the windows of a server's cache between two times.
func windowsDuring(h *model.History, server string, from, to int64) (windows []model.CacheWindow) {
	for _, window := range h.Windows {
		if window.Server != server || window.Time > to {
			continue
		}
		if window.Time <= from {
			windows = nil
		}
		windows = append(windows, window)
	}
	return windows
}

// TestWindowsAreWhatServersAnswerWatchesBy compares the recorded windows of caches with their
// answers: 410 only to watches from below the window.
func TestWindowsAreWhatServersAnswerWatchesBy(t *testing.T) {
	for _, target := range []string{"cacher", "kubernetes"} {
		t.Run(target, func(t *testing.T) {
			h := simulated(t, "--seed", "4", "--scenario", "reinit", "--target", target)
			opened, expired, reinitialized := 0, 0, 0
			for _, s := range h.Streams {
				// A server reports 410 in its answer, or in the first event.
				gone := s.Err == model.Expired || len(s.Events) > 0 && s.Events[0].Err == model.Expired
				if s.RV <= 0 || s.InitialEvents || s.Return == model.Pending || !gone && len(s.Events) == 0 {
					continue
				}
				during := windowsDuring(h, s.Server, s.Call, s.Return)
				require.True(t, slices.ContainsFunc(during, func(window model.CacheWindow) bool {
					return window.Filling == 0 || gone == (s.RV < window.Since)
				}), "stream %d from RV %d, 410 is %t of %s, whose cache held %v", s.ID, s.RV, gone, s.Server, during)
				if gone {
					expired++
				} else {
					opened++
				}
			}
			for _, window := range h.Windows {
				if window.Filling > 1 {
					reinitialized++
				}
			}
			require.Positive(t, opened)
			require.Positive(t, expired)
			require.Positive(t, reinitialized, "the scenario has caches reinitialize")
		})
	}
}

// TestLeadersAreMembers makes etcd change its leader.
func TestLeadersAreMembers(t *testing.T) {
	h := simulated(t, "--seed", "4", "--scenario", "storm", "--target", "cacher")
	led, term := map[string]bool{}, int64(0)
	require.NotEmpty(t, h.Leaders)
	require.Zero(t, h.Leaders[0].Time)
	for i, leader := range h.Leaders {
		if i > 0 {
			before := h.Leaders[i-1]
			require.False(t, before.Member == leader.Member && before.Leaderless == leader.Leaderless, "%v", h.Leaders)
		}
		if leader.Member == "" {
			continue
		}
		require.Contains(t, []string{"etcd-0", "etcd-1", "etcd-2"}, leader.Member)
		require.GreaterOrEqual(t, leader.Term, term, fmt.Sprint(h.Leaders))
		led[leader.Member], term = true, leader.Term
	}
	require.Greater(t, len(led), 1, "%v", h.Leaders)
}
