package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeSimrun acts as simrun, whose replays say something: of three seeds one passes, one fails, and
// one kills its worker before it has a tape.
func fakeSimrun(t *testing.T, says string) string {
	return script(t, `if [ "$1" = replay ]; then echo "  `+says+`"; exit 1; fi
while [ "$1" != --out ]; do shift; done
for run in 1-passed 2-failed 3-failed; do
	mkdir -p "$2/$run"; echo "{\"verdict\": \"${run#*-}\"}" >"$2/$run/verdict.json"
done
touch "$2/1-passed/tape.bin" "$2/2-failed/tape.bin"
exit 1
`)
}

func TestReplays(t *testing.T) {
	for says, different := range map[string]int{
		"the hash agrees: 1c313b6a2b968930":                                    0,
		"the process died after the same decisions as when it was recorded":    0,
		"the replay differs: expected the hash 1, found 2; it ended elsewhere": 1,
	} {
		var out bytes.Buffer
		h := &hunter{stdout: &out}
		recorded, bad, err := h.replayOne(t.Context(), fakeSimrun(t, says), bug, 5)
		require.NoError(t, err)
		require.Equal(t, 1, recorded, says)
		require.Equal(t, different, bad, says)
		require.Equal(t, different == 1, bytes.Contains(out.Bytes(), []byte("2-failed replays with another hash")))
	}
	_, _, err := (&hunter{}).replayOne(t.Context(), "/nowhere/simrun", bug, 5)
	require.ErrorContains(t, err, "/nowhere/simrun")
}
