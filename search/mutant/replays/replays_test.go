package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
)

// actVariable makes the test binary act as simrun: with some bugs one seed fails,
// and its replay says what the variable says.
const actVariable = "WATCHSIM_TEST_REPLAY_SAYS"

func TestMain(m *testing.M) {
	if says := os.Getenv(actVariable); says != "" {
		os.Exit(act(says, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// act is simrun, as far as replays go.
func act(says string, arguments []string) (code int) {
	if arguments[0] == "replay" {
		if _, err := os.Stat(filepath.Join(arguments[1], "verdict.json")); err != nil {
			return 2
		}
		fmt.Printf("FAILED\n\n  %s\n  artefacts in %s\n", says, arguments[1])
		return 1
	}
	if slices.Index(bugs(), os.Getenv(mutant.Variable)) > 1 {
		return 0
	}
	out := arguments[slices.Index(arguments, "--out")+1]
	for name, verdict := range map[string]string{"1-passes": "passed", "2-fails": "failed", "3-dies": "failed"} {
		folder := filepath.Join(out, name)
		if os.MkdirAll(folder, 0o755) != nil || os.WriteFile(filepath.Join(folder, "verdict.json"), []byte(`{"verdict":"`+verdict+`"}`), 0o600) != nil {
			return 2
		}
		if name != "3-dies" && os.WriteFile(filepath.Join(folder, "tape.bin"), nil, 0o600) != nil {
			return 2
		}
	}
	return 1
}

// bugs are the names of those that are hunted.
func bugs() (names []string) {
	for _, m := range mutant.All() {
		if len(m.Hunt) > 0 {
			names = append(names, m.Name)
		}
	}
	return names
}

// replays is what the command says of two failures of two bugs.
func replays(t *testing.T, says string, count int) (string, error) {
	t.Helper()
	t.Setenv(actVariable, says)
	itself, err := os.Executable()
	require.NoError(t, err)
	var out bytes.Buffer
	err = run(context.Background(), options{count: count, seeds: 3, each: 5, binary: itself}, &out)
	return out.String(), err
}

func TestFailuresThatReplayAreCounted(t *testing.T) {
	for _, says := range []string{"the hash agrees: 1c313b6a2b968930", "the process died after the same decisions as when the run was recorded"} {
		said, err := replays(t, says, 2)
		require.NoError(t, err, said)
		require.Contains(t, said, "1 of 1 failures replay with the same hash")
		require.Contains(t, said, "2 failures of 2 bugs, 0 with another hash")
	}
}

func TestAFailureWithAnotherHashIsAnError(t *testing.T) {
	said, err := replays(t, "the replay differs: expected the hash 1, found 2;", 2)
	require.ErrorIs(t, err, errReplay)
	require.ErrorContains(t, err, "2 of 2 came to another hash")
	require.Contains(t, said, bugs()[0]+" 2-fails: the replay differs: expected the hash 1, found 2;")
	require.Contains(t, said, "2 failures of 2 bugs, 2 with another hash")
}

func TestTooFewFailuresAreAnError(t *testing.T) {
	said, err := replays(t, "the hash agrees: 1", 3)
	require.ErrorIs(t, err, errReplay)
	require.ErrorContains(t, err, "expected 3, found 2")
	require.Equal(t, 2, strings.Count(said, "failures replay with the same hash"))
}

func TestARunThatCannotBeMadeIsAnError(t *testing.T) {
	_, err := simrun(t.Context(), "/nowhere/simrun", "", "--seeds", "1-3")
	require.ErrorContains(t, err, "--seeds 1-3: ")
}
