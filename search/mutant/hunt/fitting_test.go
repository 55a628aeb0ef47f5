package main

import (
	"bytes"
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
	_, err = options{}.fitting(both, &bytes.Buffer{})
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
	fit, err := options{use: uses}.fitting(both, &said)
	require.NoError(t, err)
	require.Len(t, fit, 1)
	require.Contains(t, said.String(), "elsewhere is left out: ")
	_, err = options{use: uses}.fitting(both[1:], &said)
	require.Error(t, err, "nothing is left")
}
