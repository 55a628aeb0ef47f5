package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// A mutant that does not apply is an error with the code of go.mod, and is skipped with other code.
func TestMutantsThatDoNotFit(t *testing.T) {
	canary, err := mutant.Find("canary")
	require.NoError(t, err)
	elsewhere := canary
	elsewhere.Name, elsewhere.Anchor = "elsewhere", "a line that is nowhere\n"
	both := []mutant.Mutant{canary, elsewhere}
	_, err = options{}.fitting(both, &bytes.Buffer{}, false)
	require.ErrorContains(t, err, "elsewhere")

	source, err := selfbuild.Source()
	require.NoError(t, err)
	modules, err := selfbuild.Modules(source, nil)
	require.NoError(t, err)
	folder, err := modules("go.etcd.io/raft/v3")
	require.NoError(t, err)
	uses, err := selfbuild.ParseUses("go.etcd.io/raft/v3=" + folder)
	require.NoError(t, err)
	var said bytes.Buffer
	fit, err := options{use: uses}.fitting(both, &said, false)
	require.NoError(t, err)
	require.Len(t, fit, 1)
	require.Contains(t, said.String(), "elsewhere is left out: ")
	said.Reset()
	unfitFix := elsewhere
	unfitFix.Name = "fix-elsewhere"
	_, err = options{use: uses}.fitting(append(both, unfitFix), &said, true)
	require.NoError(t, err)
	require.Contains(t, said.String(), "fix-elsewhere is left out: ", "a hunt without a fix may find its bug")
	require.Equal(t, 1, strings.Count(said.String(), "is left out"))
	_, err = options{use: uses}.fitting(both[1:], &said, false)
	require.Error(t, err, "nothing is left")
}
