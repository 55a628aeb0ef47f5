package campaign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrShard means that the requested shard is impossible.
var ErrShard = errors.New("impossible shard")

// MaxShards is the largest number of shards of a campaign: Kubernetes' limit for an Indexed Job
// with a backoff limit per index.
const MaxShards = 100_000

// CompletionIndexVariable is the environment variable with the index of a pod in an Indexed Job,
// counting from 0.
const CompletionIndexVariable = "JOB_COMPLETION_INDEX"

// Shard is one of the equal parts of a range of seeds. It has every Count-th seed of the range, not
// a contiguous part. The lowest seeds are therefore done first whatever the number of shards, and a
// late or lost shard thins the range out instead of leaving a gap.
type Shard struct {
	// Index counts from 1, as other test runners do.
	Index int `json:"shard"`
	Count int `json:"shards"`
}

// Whole is the only shard of an undivided range.
var Whole = Shard{Index: 1, Count: 1}

// ChooseShard returns the shard that a process runs. shard names it, as in 3/16. shards is only
// their number, and the index then comes from completionIndex, the value of Kubernetes' variable.
// Each is empty or 0 if it was not given.
func ChooseShard(shard string, shards int, completionIndex string) (Shard, error) {
	switch {
	case shard != "" && shards != 0:
		return Shard{}, fmt.Errorf("%w: expected one of --shard and --shards, found both", ErrShard)
	case shard != "":
		chosen, err := parseShard(shard)
		if err == nil && completionIndex != "" && completionIndex != strconv.Itoa(chosen.Index-1) {
			// All pods of a Job have the same arguments, and would run the same seeds.
			err = fmt.Errorf("%w: --shard %s: expected the shard that %s=%s means, counting from 0, found another; give --shards %d instead",
				ErrShard, shard, CompletionIndexVariable, completionIndex, chosen.Count)
		}
		return chosen, err
	case shards < 0 || shards > MaxShards:
		return Shard{}, fmt.Errorf("%w: --shards: expected 1 to %d shards, found %d", ErrShard, MaxShards, shards)
	case shards == 0 && completionIndex != "":
		return Shard{}, fmt.Errorf("%w: %s is set, so this is one of several pods: expected their number in --shards, found none", ErrShard, CompletionIndexVariable)
	case shards == 0:
		return Whole, nil
	case completionIndex == "":
		return Shard{}, fmt.Errorf("%w: --shards %d: expected the environment variable %s, which Kubernetes sets, found none; outside of Kubernetes name the shard, such as --shard 1/%d",
			ErrShard, shards, CompletionIndexVariable, shards)
	}
	index, err := strconv.Atoi(completionIndex)
	if err != nil || index < 0 || index >= shards {
		return Shard{}, fmt.Errorf("%w: %s: expected 0 to %d for %d shards, found %q", ErrShard, CompletionIndexVariable, shards-1, shards, completionIndex)
	}
	return Shard{Index: index + 1, Count: shards}, nil
}

func parseShard(text string) (Shard, error) {
	index, count, cut := strings.Cut(text, "/")
	i, indexErr := strconv.Atoi(index)
	n, countErr := strconv.Atoi(count)
	switch {
	case !cut || indexErr != nil || countErr != nil:
		return Shard{}, fmt.Errorf("%w: --shard: expected the shard and their number, such as 3/16, found %q", ErrShard, text)
	case n < 1 || n > MaxShards:
		return Shard{}, fmt.Errorf("%w: --shard: expected 1 to %d shards, found %q", ErrShard, MaxShards, text)
	case i < 1 || i > n:
		return Shard{}, fmt.Errorf("%w: --shard: expected one of 1/%d to %d/%d, counting from 1, found %q", ErrShard, n, n, n, text)
	}
	return Shard{Index: i, Count: n}, nil
}

// String returns the shard in the syntax of --shard.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Owns reports whether a seed of the range that begins with first is in the shard.
func (s Shard) Owns(first, seed uint64) bool {
	return (seed-first)%uint64(s.Count) == uint64(s.Index-1)
}

// Size returns how many seeds of a range are in the shard. The range must not contain all 2^64
// seeds.
func (s Shard) Size(first, last uint64) uint64 {
	return (last - first + uint64(s.Count-s.Index) + 1) / uint64(s.Count)
}

// FileName returns the name of the shard's results file. The names of a campaign sort in the order
// of shards.
func (s Shard) FileName() string {
	width := len(strconv.Itoa(s.Count))
	return fmt.Sprintf("shard-%0*d-of-%d.jsonl", width, s.Index, s.Count)
}

// filePattern matches the names of all results files.
const filePattern = "shard-*-of-*.jsonl"
