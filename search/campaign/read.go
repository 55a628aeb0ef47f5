package campaign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// Result is one line after the header: the verdict on a seed, as --json prints
// it, without the folder of its artifacts.
type Result struct {
	scenario.Verdict
	// NotDeterministic says how two runs of the seed differed, if they did.
	NotDeterministic string `json:"not_deterministic,omitempty"`
}

// position is the location of a line in its file.
type position struct{ offset, length int64 }

// readResults reads a results file, and calls begin with its header and each with its lines and their
// positions. end is where the last complete line ends, 0 if there is no complete header. An incomplete
// last line, left by a kill or a power failure, is not an error.
func readResults(path string, in io.Reader, begin func(Header) error, each func(Result, position)) (end int64, err error) {
	var header Header
	lines := bufio.NewReaderSize(in, 1<<20)
	seen := map[uint64]bool{}
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil // half a line, or none
		}
		if err != nil {
			return end, fmt.Errorf("%w: %s: %w", ErrResults, path, err)
		}
		if number == 1 {
			if header, err = parseHeader(path, line); err == nil {
				err = begin(header)
			}
			if err != nil {
				return 0, err
			}
			end = int64(len(line))
			continue
		}
		var result Result
		if err := json.Unmarshal(line, &result); err != nil || result.Outcome == "" {
			if _, err := lines.Peek(1); errors.Is(err, io.EOF) {
				return end, nil
			}
			return end, fmt.Errorf("%w: %s, line %d: expected a verdict as JSON, found %.40q; move the file away to restart this shard", ErrResults, path, number, bytes.TrimSpace(line))
		}
		switch {
		case !header.Owns(result.Seed):
			return end, fmt.Errorf("%w: %s, line %d: expected a seed of shard %s of %d to %d, found seed %d", ErrResults, path, number, header.Shard, header.First, header.Last, result.Seed)
		case seen[result.Seed]:
			return end, fmt.Errorf("%w: %s, line %d: expected each seed once, found seed %d again", ErrResults, path, number, result.Seed)
		}
		seen[result.Seed] = true
		each(result, position{end, int64(len(line))})
		end += int64(len(line))
	}
}
