package simtest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Seeds runs a test once for each seed, in a cluster of its own, and stops at the first seed that
// fails. A test calls it once.
func Seeds(t *testing.T, config Config, body func(t *T, c *Cluster)) {
	t.Helper()
	h := newHunt(t, &config, body)
	began := time.Now()
	if *flagNoFork {
		if *flagSeed < 0 {
			t.Fatal("expected -simtest.no-fork with one seed, found no -simtest.seed")
		}
		if err := h.inPlace(config, body, job{Seed: uint64(*flagSeed), Kinds: h.kinds}); err != nil {
			t.Fatal(err)
		}
	} else {
		h.all()
	}
	h.conclude(began)
	if h.passed == 0 && h.skipped > 0 && !t.Failed() {
		t.SkipNow() // nothing was tested
	}
}

// newHunt prepares the runs of a test. In a worker of this test it does not return.
func newHunt(t *testing.T, config *Config, body func(t *T, c *Cluster)) *hunt {
	t.Helper()
	if _, again := called.LoadOrStore(t, true); again {
		panic("expected one call of simtest.Seeds or simtest.Property in a test, found another one; a test with several has each in a t.Run")
	}
	if body == nil || config.Members < 0 || config.Servers < 0 {
		t.Fatalf("expected a function and no negative number in simtest's Config, found the function nil: %v, %d members and %d servers", body == nil, config.Members, config.Servers)
	}
	config.Members, config.Servers = max(1, config.Members), max(1, config.Servers)
	if os.Getenv(workerVariable) == t.Name() {
		work(t, *config, body)
	}
	// The go command caches a test's result until a file or variable that this process read changes. It does not see what
	// the simulating process reads.
	_ = os.Getenv(gateVariable)
	if _, err := readDefinitions(config.CRDs); err != nil {
		t.Fatal(err)
	}
	h := &hunt{t: t, possible: Kinds(*config), each: "seed"}
	if err := h.prepare(); err != nil {
		t.Fatal(err)
	}
	return h
}

// conclude reports the results.
func (h *hunt) conclude(began time.Time) {
	h.t.Helper()
	h.summarise(time.Since(began))
	var small *report
	if h.failed != nil {
		small = h.present(*h.failed)
	}
	if err := h.report(small); err != nil {
		h.t.Error(err)
	}
}

// called are the tests that have called Seeds or Property. Their workers only get to the first call.
var called sync.Map

// hunt runs the seeds of a test.
type hunt struct {
	t       *testing.T
	program string // the binary that simulates
	each    string // what a run is for: a seed, or a value
	// possible are the kinds of faults that this configuration can have.
	possible []string
	kinds    []string // that the flags ask for; nil for all
	kept     []job
	first    uint64
	last     uint64
	cut      string // which seeds did not begin, and why

	mu      sync.Mutex
	begun   *report // of the first job
	passed  int
	skipped int
	spent   time.Duration // processor time of runs
	reached map[string]int
	omitted map[string]map[string]int // number of runs, by why something was not judged and by resource
	hash    uint64                    // of the last run
	hashes  map[uint64]string         // of passed runs, by seed
	failed  *report
	unlike  error // the failed seed was another run in another process
	broken  error
}

func (h *hunt) prepare() (err error) {
	if h.first, h.last, err = seeds(); err != nil {
		return err
	}
	if *flagVerify < 1 {
		return fmt.Errorf("expected -simtest.verify to be at least 1, found %d", *flagVerify)
	}
	switch text := *flagFaults; {
	case text == "none":
		h.kinds = []string{}
	case text != "":
		h.kinds = strings.Split(text, ",")
		for _, kind := range h.kinds {
			if !slices.Contains(h.possible, kind) {
				return fmt.Errorf("expected -simtest.faults to name some of %s, or none, found %q", strings.Join(h.possible, ", "), kind)
			}
		}
	}
	if *flagSeed < 0 {
		if h.kept, err = kept(h.t.Name()); err != nil {
			return err
		}
	}
	h.reached, h.omitted, h.hashes = map[string]int{}, map[string]map[string]int{}, map[uint64]string{}
	h.program, err = binary(h.t)
	return err
}

// all runs the seeds until one fails, and keeps the report of the lowest that failed. Every worker
// first runs the first job: to check that it is the same run everywhere costs little.
func (h *hunt) all() {
	jobs := make(chan job)
	done := make(chan struct{})
	first, kept, from := job{Seed: h.first, Kinds: h.kinds}, h.kept, h.first+1
	if len(kept) > 0 {
		first, kept, from = kept[0], kept[1:], h.first
	}
	var group sync.WaitGroup
	for range min(h.workers(), len(h.kept)+int(min(h.last-h.first+1, 1000))) {
		group.Go(func() {
			peers, err := h.peers(*flagVerify)
			if err == nil {
				err = h.begin(peers, first)
			}
			if err != nil {
				h.breakOff(err)
			}
			for next := range jobs {
				if err == nil {
					var r report
					if r, err = alikeEverywhere(peers, next); err == nil {
						h.note(r)
					}
				}
				if err != nil {
					h.breakOff(err)
				}
			}
			stop(peers)
		})
	}
	go func() {
		defer close(done)
		defer close(jobs)
		for _, next := range kept {
			if h.over() {
				return
			}
			jobs <- next
		}
		until, limit := deadline(h.t.Deadline())
		for seed := from; seed <= h.last && !h.over(); seed++ {
			if time.Now().After(until) {
				h.cut = fmt.Sprintf("%d seeds from %d on did not begin within %s", h.last-seed+1, seed, limit)
				break
			}
			jobs <- job{Seed: seed, Kinds: h.kinds}
		}
	}()
	group.Wait()
	<-done
	if h.broken != nil {
		h.t.Fatal(h.broken)
	}
}

// peers starts a number of worker processes.
func (h *hunt) peers(number int) (all []*peer, err error) {
	for range number {
		p := &peer{program: h.program, test: h.t.Name()}
		if err := p.start(); err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

func stop(all []*peer) {
	for _, p := range all {
		p.stop()
	}
}

// alikeEverywhere has several workers run a job, and returns the first report. It fails if another
// worker had another run: then something besides the seed decides it.
func alikeEverywhere(peers []*peer, next job) (first report, err error) {
	for i, p := range peers {
		r, err := p.do(next)
		if err != nil {
			return r, err
		}
		if i == 0 {
			first = r
		}
		if err := sameRun(first, r); err != nil {
			return r, err
		}
	}
	return first, nil
}

// sameRun returns an error if two runs of a job differ: then something besides the seed decides them.
func sameRun(a, b report) error {
	if a.Hash == b.Hash {
		return nil
	}
	return fmt.Errorf("expected the same run of seed %d in each process, found the hashes %016x and %016x: something decides that the seed does not, such as the real clock, "+
		"a file, a variable that runs before have left, or a goroutine that was started outside of the simulation", a.Seed, a.Hash, b.Hash)
}

// begin has a worker do the first job, as every worker does.
func (h *hunt) begin(peers []*peer, next job) error {
	r, err := alikeEverywhere(peers, next)
	if err != nil {
		return err
	}
	h.mu.Lock()
	before := h.begun
	h.begun = &r
	h.mu.Unlock()
	if before != nil {
		return sameRun(*before, r)
	}
	h.note(r)
	return nil
}

// workers returns how many processes simulate at once.
func (h *hunt) workers() int {
	if *flagWorkers == 0 {
		return runtime.NumCPU()
	}
	return *flagWorkers
}

func (h *hunt) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed != nil || h.broken != nil
}

func (h *hunt) breakOff(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken == nil {
		h.broken = err
	}
}

func (h *hunt) note(r report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spent += r.Processor
	h.hash = r.Hash
	for _, one := range r.Unjudged {
		if h.omitted[one.Why] == nil {
			h.omitted[one.Why] = map[string]int{}
		}
		h.omitted[one.Why][one.Resource]++
	}
	for what, times := range r.Reached {
		if times > 0 {
			h.reached[what]++
		} else {
			h.reached[what] += 0
		}
	}
	switch {
	case r.Failed && (h.failed == nil || r.before(h.failed)):
		h.failed = &r
	case r.Failed:
	case r.Skipped:
		h.skipped++
	default:
		h.passed++
		if len(r.Value) == 0 {
			h.hashes[r.Seed] = fmt.Sprintf("%016x", r.Hash)
		}
	}
}

// before reports whether this failure is shown rather than the other one.
func (r *report) before(other *report) bool {
	if (r.Kept != "") != (other.Kept != "") {
		return r.Kept != ""
	}
	return r.Seed < other.Seed
}
