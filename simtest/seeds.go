package simtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Seeds runs a test for each of a number of seeds, in a cluster of its own. It stops at the
// first seed that fails. A test calls it once.
func Seeds(t *testing.T, config Config, body func(t *T, c *Cluster)) {
	t.Helper()
	if _, again := called.LoadOrStore(t, true); again {
		panic("expected one call of simtest.Seeds in a test, found another one; a test with several has each in a t.Run")
	}
	if body == nil || config.Members < 0 || config.Servers < 0 {
		t.Fatalf("expected a function and no negative number in the Config of simtest.Seeds, found the function nil: %v, %d members and %d servers", body == nil, config.Members, config.Servers)
	}
	config.Members, config.Servers = max(1, config.Members), max(1, config.Servers)
	if os.Getenv(workerVariable) == t.Name() {
		work(t, config, body)
	}
	h := &hunt{t: t}
	if err := h.prepare(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if *flagNoFork {
		if err := h.inPlace(config, body); err != nil {
			t.Fatal(err)
		}
	} else {
		h.all()
	}
	h.summarise(time.Since(began))
	if h.failed != nil {
		h.present(*h.failed)
	}
}

// called are the tests that have called Seeds. Their workers come to the first call.
var called sync.Map

// hunt runs the seeds of a test.
type hunt struct {
	t       *testing.T
	program string // the binary that simulates
	kinds   []string
	kept    []job
	first   uint64
	last    uint64
	cut     string // which seeds did not begin, and why

	mu      sync.Mutex
	begun   *report // of the first job
	passed  int
	skipped int
	spent   time.Duration // processor time of runs
	reached map[string]int
	omitted map[string]map[string]int // why something was not judged, of which resource, in how many runs
	hash    uint64                    // of the last run
	failed  *report
	unlike  error // the failed seed had another run in another process
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
			if !slices.Contains(Kinds(), kind) {
				return fmt.Errorf("expected -simtest.faults to name some of %s, or none, found %q", strings.Join(Kinds(), ", "), kind)
			}
		}
	}
	if *flagSeed < 0 {
		if h.kept, err = kept(h.t.Name()); err != nil {
			return err
		}
	}
	h.reached, h.omitted = map[string]int{}, map[string]map[string]int{}
	h.program, err = binary(h.t)
	return err
}

// all runs the seeds until one fails, and keeps the report of the lowest that did. Every
// worker begins with the first of all runs: that it is the same everywhere costs little to see.
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
			peers, err := h.peers()
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
			for _, p := range peers {
				p.stop()
			}
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

// peers starts the processes in each of which a seed runs.
func (h *hunt) peers() (all []*peer, err error) {
	for range *flagVerify {
		p, err := h.start()
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

// alikeEverywhere has each of some workers run a job, and returns the report of the first. It is an
// error if another one has another run: then something decides that the seed does not.
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

// sameRun is an error if two runs of a job differ: then something decides that the seed does not.
func sameRun(a, b report) error {
	if a.Hash == b.Hash {
		return nil
	}
	return fmt.Errorf("expected the same run of seed %d in each process, found the hashes %016x and %016x: something decides that the seed does not, such as the real clock, "+
		"a file, a variable that runs before have left, or a goroutine that was started outside of the simulation", a.Seed, a.Hash, b.Hash)
}

// begin has a worker do the first job, as each of them does.
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

// workers is how many processes simulate at once.
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
	}
}

// before reports whether a failure is shown rather than another one.
func (r *report) before(other *report) bool {
	if (r.Kept != "") != (other.Kept != "") {
		return r.Kept != ""
	}
	return r.Seed < other.Seed
}

// summarise reports what the seeds have reached.
func (h *hunt) summarise(took time.Duration) {
	h.t.Helper()
	seeds := "seeds"
	if h.passed == 1 {
		seeds = "seed"
	}
	text := fmt.Sprintf("%d %s passed in %v, with %v of processor time", h.passed, seeds, took.Round(10*time.Millisecond), h.spent.Round(10*time.Millisecond))
	if h.passed == 1 && h.failed == nil {
		text += fmt.Sprintf(" (hash %016x)", h.hash)
	}
	if *flagVerify > 1 {
		text += fmt.Sprintf(", each the same run in %d processes", *flagVerify)
	}
	if h.skipped > 0 {
		text += fmt.Sprintf(", %d were skipped", h.skipped)
	}
	if h.cut != "" {
		text += "; " + h.cut
	}
	for _, name := range slices.Sorted(maps.Keys(h.reached)) {
		if h.reached[name] == 0 {
			text += fmt.Sprintf("\nnever: %s", name)
		} else {
			text += fmt.Sprintf("\n%s: in %d runs", name, h.reached[name])
		}
	}
	for _, why := range slices.Sorted(maps.Keys(h.omitted)) {
		var of []string
		for _, resource := range slices.Sorted(maps.Keys(h.omitted[why])) {
			of = append(of, fmt.Sprintf("%s (%d)", resource, h.omitted[why][resource]))
		}
		if more := len(of) - shownResources; more > 0 {
			of = append(of[:shownResources], fmt.Sprintf("%d more", more))
		}
		text += fmt.Sprintf("\nnot judged, of resources (in so many runs): %s: %s", why, strings.Join(of, ", "))
	}
	h.t.Log(text)
}

// present reports a failure, once it is as small as can be, and keeps it.
func (h *hunt) present(r report) {
	h.t.Helper()
	small, whole := r, true
	if *flagShrink > 0 && !*flagNoFork && r.Kept == "" {
		small, whole = h.shrink(r)
	}
	path, err := keep(h.t.Name(), small)
	if err != nil {
		h.t.Error(err)
	}
	text := fmt.Sprintf("seed %d failed after %v of simulated time (hash %016x):", r.Seed, r.Simulated.Round(time.Millisecond), r.Hash)
	if len(small.Log) > 0 {
		text += "\n" + indent(small.Log)
	}
	if small.Stop != "" {
		text += "\n" + small.Stop + " (-artifacts keeps where each goroutine was)"
	}
	for i, one := range small.Violations {
		if i == shownViolations {
			text += fmt.Sprintf("\nand %d more guarantees that were broken", len(small.Violations)-i)
			break
		}
		text += fmt.Sprintf("\nThe API servers broke a guarantee of %s:\n%s", one.Resource, indent([]string{one.Text}))
	}
	if len(small.Violations) == 0 && small.Stop == "" {
		text += "\nThe API servers kept all guarantees of list and watch."
	}
	elsewhere := ""
	if small.Seed != r.Seed {
		elsewhere = fmt.Sprintf(", in the run of seed %d, which is shown here", small.Seed)
	}
	switch {
	case r.Kept != "" && r.Faults == 0:
		text += "\nIt was kept before, without faults."
	case r.Kept != "":
		text += "\nIt was kept before, with these faults:\n" + indent([]string{faultsOf(small.Plan)})
	case r.Faults == 0:
		text += "\nIt needs no faults."
	case small.Faults == 0:
		text += fmt.Sprintf("\nIt needs none of the %d faults of the seed%s.", r.Faults, elsewhere)
	case small.Faults < r.Faults:
		text += fmt.Sprintf("\nIt needs %d of the %d faults of the seed%s:\n", small.Faults, r.Faults, elsewhere) + indent([]string{faultsOf(small.Plan)})
	default:
		text += "\nThe faults:\n" + indent([]string{faultsOf(small.Plan)})
	}
	if small.PlainLists {
		text += fmt.Sprintf("\nInformers began with plain lists, which may be old, as they do for half of the seeds (%s=true has none).", gateVariable)
	}
	if h.unlike != nil {
		text += "\n" + h.unlike.Error() + "."
	} else if !whole {
		text += fmt.Sprintf("\nThat there are no fewer was not found out within -simtest.shrink %v.", *flagShrink)
	}
	h.artifact(small.Seed, "stacks.txt", small.Stacks)
	h.artifact(small.Seed, "log.txt", small.Output)
	for resource, history := range small.Histories {
		h.artifact(small.Seed, resource+".jsonl", history)
	}
	if len(small.Requests) == maxRequests {
		text += fmt.Sprintf("\nThe run made more requests than the %d that are kept for people.", maxRequests)
	}
	if len(small.Requests) > 0 {
		h.artifact(small.Seed, "requests.txt", strings.Join(small.Requests, "\n")+"\n")
		programs := slices.DeleteFunc(small.Requests, func(line string) bool {
			return strings.Contains(line, ": "+testClient+" ")
		})
		if last := programs[max(0, len(programs)-shownRequests):]; len(last) > 0 {
			text += fmt.Sprintf("\nThe last of %d requests of the programs (-artifacts keeps all of them):\n", len(programs)) + indent(last)
		}
	}
	text += fmt.Sprintf("\nIt is kept in %s. Run it again:\n    ", path)
	if again := os.Getenv(againVariable); again != "" {
		text += fmt.Sprintf("%s --seed %d", again, r.Seed)
		if *flagFaults != "" {
			text += " --faults " + *flagFaults // or the seed draws other ones
		}
	} else {
		text += fmt.Sprintf("go test -run '%s' -simtest.seed=%d", exactly(h.t.Name()), r.Seed)
		if *flagFaults != "" {
			text += " -simtest.faults=" + *flagFaults
		}
	}
	h.t.Error(text)
}

// againVariable is the environment variable with the command that runs seeds of this test, if
// it is not `go test`: simrun sets it.
const againVariable = "WATCHSIM_SIMTEST_AGAIN"

// artifact writes a file that `go test -artifacts` keeps.
func (h *hunt) artifact(seed uint64, what, content string) {
	if content == "" {
		return
	}
	file := filepath.Join(h.t.ArtifactDir(), fmt.Sprintf("seed-%d-%s", seed, what))
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		h.t.Error(err)
	}
}

// How many requests, broken guarantees and resources a report shows.
const (
	shownRequests   = 10
	shownViolations = 3
	shownResources  = 4
)

// faultsOf is a plan without its header.
func faultsOf(plan string) string {
	_, lines, _ := strings.Cut(plan, planHeader)
	_, lines, _ = strings.Cut(lines, "\n")
	return lines
}

func indent(lines []string) string {
	text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// peer is a worker process.
type peer struct {
	command *exec.Cmd
	jobs    io.WriteCloser
	reports *bufio.Reader
	pipe    *os.File
	said    strings.Builder
}

// start starts a worker.
func (h *hunt) start() (*peer, error) {
	reports, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p := &peer{reports: bufio.NewReader(reports), pipe: reports}
	p.command = exec.Command(h.program, "-test.run="+exactly(h.t.Name()), "-test.count=1", "-test.timeout=0")
	p.command.Env = append(os.Environ(), workerVariable+"="+h.t.Name(), "GOMAXPROCS=1")
	p.command.Stdout, p.command.Stderr = &p.said, &p.said
	p.command.ExtraFiles = []*os.File{theirs}
	if p.jobs, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	return p, p.command.Start()
}

// do has the worker run a job.
func (p *peer) do(next job) (r report, err error) {
	line, err := json.Marshal(next)
	if err == nil {
		_, err = p.jobs.Write(append(line, '\n'))
	}
	var answer []byte
	if err == nil {
		answer, err = p.reports.ReadBytes('\n')
	}
	if err != nil {
		_ = p.command.Wait()
		return r, fmt.Errorf("a process that simulates has ended: %w\n%s", err, p.said.String())
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return r, err
	}
	if r.Broken != "" {
		return r, errors.New(r.Broken)
	}
	return r, nil
}

// stop ends the worker.
func (p *peer) stop() {
	p.jobs.Close()
	_ = p.command.Wait()
	p.pipe.Close()
}

// exactly is the pattern of -test.run that matches only one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
