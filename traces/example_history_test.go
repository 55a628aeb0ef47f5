package traces

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// exampleFile is the example in the documentation of the format: every kind of record,
// with every field at least once, in a history that obeys the model.
const exampleFile = "testdata/history.jsonl"

// example reads that history.
func example() *model.History {
	file, err := os.Open(exampleFile)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	_, h, err := ReadValidHistory(file)
	if err != nil {
		panic(err)
	}
	return h
}

func TestTheExampleIsWrittenAsItIs(t *testing.T) {
	file, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	header, h, err := ReadValidHistory(strings.NewReader(string(file)))
	require.NoError(t, err)
	require.Equal(t, string(file), written(t, header, h))
}
