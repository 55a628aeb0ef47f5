package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrongFlagsAreOneSentence(t *testing.T) {
	for flags, says := range map[string]string{
		"-watches 0":           `expected -watches to be numbers from 1 to 100000, found "0"`,
		"-watches 1,ten":       `expected -watches to be numbers from 1 to 100000, found "ten"`,
		"-variants etcd":       `expected -variants to be among etcd-shared, etcd-spread, kubernetes, cacher, found "etcd"`,
		"-rate 0":              "expected -rate to be from 1 to 10000, found 0",
		"-seconds -1":          "expected -seconds to be from 1 to 3600, found -1",
		"-pods 0":              "expected -pods to be from 1 to 100000, found 0",
		"-bytes 2000000":       "expected -bytes to be from 1 to 1048576, found 2000000",
		"-per-connection 0":    "expected -per-connection to be from 1 to 100000, found 0",
		"-rounds 0":            "expected -rounds to be from 1 to 100, found 0",
		"-patience 0s":         "expected -patience to be more than 0, found 0s",
		"-rate many":           `invalid value "many"`,
		"-nonsense":            "flag provided but not defined: -nonsense",
		"-quick 10000":         `expected flags only, found "10000"`,
		"-quick -watches none": `expected -watches to be numbers from 1 to 100000, found "none"`,
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), strings.Fields(flags), &stdout, &stderr), flags)
		require.Contains(t, stderr.String(), says)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line for %s", flags)
		require.Empty(t, stdout.String())
	}
}

func TestHelpListsTheFlags(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitDelivered, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-per-connection")
	require.Empty(t, stderr.String())
}

func TestQuickYieldsToWhatIsGiven(t *testing.T) {
	o, err := parse([]string{"-rate", "3", "-quick"}, nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 10, 100}, o.Watches)
	require.Equal(t, 3, o.Rate)
	require.Equal(t, 1, o.Seconds)

	o, err = parse(nil, nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 10, 100, 1000, 10_000}, o.Watches)
	require.Equal(t, 10, o.writes())
}
