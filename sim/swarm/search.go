package swarm

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
	"github.com/watchsim/watchsim/sim/scenario"
)

// Search has copies of a run go on by other seeds wherever the run comes to a state that
// runs of this worker have rarely been in, and copies of these again.
type Search struct {
	// Fresh forgets what the worker has seen so far.
	Fresh bool `json:"fresh,omitempty"`
	// Every is the simulated time from one look at the run to the next.
	Every time.Duration `json:"every"`
	// Rare is a feature of a state that at most one run in so many has shown.
	Rare uint64 `json:"rare"`
	// Warm is how many runs are only looked at before the first branches.
	Warm uint64 `json:"warm"`
	// Marks is at how many marks a run branches, Children into how many copies there, and
	// Depth how many branches a copy has at most.
	Marks    int `json:"marks"`
	Children int `json:"children"`
	Depth    int `json:"depth"`
	// Tree is how many copies come of one seed at most.
	Tree uint64 `json:"tree"`
	// Working is how long the clients of a copy go on with their work.
	Working time.Duration `json:"working"`
}

// DefaultSearch is the budget of a search.
var DefaultSearch = Search{
	Every: 250 * time.Millisecond, Rare: 16, Warm: 4, Marks: 4, Children: 3, Depth: 3, Tree: 24, Working: 8 * time.Second,
}

// String lists the budget for a banner.
func (s Search) String() string {
	return fmt.Sprintf("a look every %v; rare is what one run in %d has shown; %d runs first; %d marks of a run, %d copies at each, %d branches deep, %d copies of a seed, which work for %v",
		s.Every, s.Rare, s.Warm, s.Marks, s.Children, s.Depth, s.Tree, s.Working)
}

// featuresMax bounds the features that a worker knows; a power of two.
const featuresMax = 1 << 18

// seen is what all runs of a worker have shown. It is memory that the worker and its
// copies share, of whom one runs at a time.
type seen struct {
	runs      uint64 // with copies
	treeBegan uint64 // runs when the current seed began
	roots     uint64
	known     uint64  // features
	threshold float64 // how many rare features a state must have that is branched at
	features  [featuresMax]struct{ key, runs uint64 }
}

// newSeen reserves the memory.
func newSeen() (*seen, error) {
	memory, err := unix.MmapPtr(-1, 0, nil, unsafe.Sizeof(seen{}), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("cannot make room for what runs have shown: %w", err)
	}
	return (*seen)(memory), nil
}

// count counts a run that shows a feature and returns how many did before.
func (s *seen) count(feature uint64) uint64 {
	for slot := feature; ; slot++ {
		entry := &s.features[slot%featuresMax]
		switch {
		case entry.key == feature:
			entry.runs++
			return entry.runs - 1
		case entry.key == 0 && s.known >= featuresMax/4*3:
			return s.runs // there is no room: nothing is rare any more
		case entry.key == 0:
			s.known++
			entry.key, entry.runs = feature, 1
			return 0
		}
	}
}

// searching is a run that is searched.
type searching struct {
	Search
	seen     *seen
	features *scenario.Features
	shown    map[uint64]struct{} // features of this run so far
	seed     uint64              // what the run follows
	depth    int
	marks    int    // at which it has branched
	allowed  uint64 // runs up to which it may branch
}

// searchBegins is called where a run begins that is searched.
func (w *worker) searchBegins() {
	search := *w.job.Search
	if search.Fresh {
		*w.seen = seen{}
	}
	if w.seen.threshold == 0 {
		w.seen.threshold = 1
	}
	w.seen.treeBegan = w.seen.runs
	w.seen.runs++
	w.seen.roots++
	w.searched = &searching{
		Search: search, seen: w.seen, seed: w.job.Spec.Seed, allowed: w.seen.runs + search.Tree,
	}
}

// marksOf are where a run is looked at.
func (s Search) marksOf(spec scenario.Spec) (marks []sim.Mark) {
	for at := s.Every; at < spec.Duration-spec.QuietPhase(); at += s.Every {
		marks = append(marks, sim.Mark{Instant: at})
	}
	return marks
}

// novelty is how many rare features a run shows where it stands, for the first time.
func (s *searching) novelty(world *sim.World, run *scenario.Run) (rare int) {
	if s.features == nil {
		// Not where the run begins: maps that are made before would change the seeds of
		// those that the run makes.
		s.features, s.shown = scenario.NewFeatures(run.Spec.Target), map[uint64]struct{}{}
	}
	for _, feature := range s.features.Of(world, run) {
		if _, already := s.shown[feature]; already {
			continue
		}
		s.shown[feature] = struct{}{}
		if s.seen.count(feature)*s.Rare <= s.seen.runs {
			rare++
		}
	}
	return rare
}

// look has copies of the run go on in other ways if it is in a rare state.
func (w *worker) look(world *sim.World, run *scenario.Run) {
	s := w.searched
	rare := s.novelty(world, run)
	if s.seen.roots <= s.Warm || s.depth == s.Depth || s.marks >= s.Marks>>s.depth || float64(rare) < s.seen.threshold || s.seen.runs >= s.allowed {
		return
	}
	s.marks++
	if s.depth == 0 && s.marks == s.Marks {
		s.seen.threshold *= 1.3 // others are to have a chance, too
	}
	allowed := min(s.allowed, s.seen.runs+s.Tree/uint64(s.Marks))
	at := run.Since(world.Progress())
	for child := range s.Children {
		if s.seen.runs >= allowed {
			return
		}
		made, err := fork.Now(w.limits)
		if err == nil && made.Inside() {
			w.copy = made
			branch := run.Branch(world, scenario.Branch{Seed: childSeed(s.seed, at, child), All: true, Working: s.Working})
			w.job.Spec.Branches = append(w.job.Spec.Branches[:len(w.job.Spec.Branches):len(w.job.Spec.Branches)], branch)
			s.seen.runs++
			s.depth, s.marks, s.seed, s.allowed = s.depth+1, 0, branch.Seed, allowed
			return
		}
		var line []byte
		if err == nil {
			line, err = w.await(made)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitUnlimited)
		}
		w.hand(line, run, childSeed(s.seed, at, child))
	}
}

// hand passes the answer of a copy on that did not pass, and ends this run.
func (w *worker) hand(line []byte, run *scenario.Run, seed uint64) {
	var reply Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		fmt.Fprintln(os.Stderr, "expected the reply of a copy:", err)
		os.Exit(exitUnlimited)
	}
	answer, err := reply.Read(w.job.Spec.Seed)
	switch {
	case reply.Died != "":
		answer = Answer{Verdict: dead(w.job.Spec, err), Report: reply.Died, Runs: w.seen.runs - w.seen.treeBegan}
		answer.Branches = append(w.job.Spec.Branches, run.Here(scenario.Branch{Seed: seed, All: true, Working: w.searched.Working}))
	case err == nil && answer.Verdict.Outcome == linearizability.Passed:
		return
	}
	_ = w.reply(answer)
}

// searchEnds is called where a run has ended that nobody stopped.
func (w *worker) searchEnds() {
	s := w.searched
	if s.depth == 0 && s.seen.roots > s.Warm && s.marks < s.Marks {
		s.seen.threshold = max(1, s.seen.threshold/1.3)
	}
}

// childSeed is the seed of a copy, made from that of its parent.
func childSeed(parent uint64, at time.Duration, index int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d", parent, at, index)
	return h.Sum64() | 1
}
