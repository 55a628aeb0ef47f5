package timeline

import (
	"bytes"
	"fmt"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// ReadsFile is what porcupine's picture is called beside a page.
const ReadsFile = "reads.html"

// Reads returns porcupine's own picture of the writes and reads of a history, and
// the link to it; nothing if there is nothing to draw, or too much.
func Reads(history *model.History, config linearizability.Config) ([]byte, []Link, error) {
	var picture bytes.Buffer
	drawn, err := linearizability.Picture(history, config, &picture)
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", ReadsFile, err)
	}
	if !drawn {
		return nil, nil, nil
	}
	return picture.Bytes(), []Link{{ReadsFile, "Porcupine’s picture of the writes and reads, object by object"}}, nil
}
