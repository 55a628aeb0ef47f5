package swarm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/search/explore"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// maxLine bounds a line of the protocol; a tape is the largest part of one.
const maxLine = 256 << 20

// judgeMemory is the size of the heap above which garbage is collected while a history is
// checked, in bytes. Before that, the run itself decides when to collect.
const judgeMemory = 2 << 30

// Work is the main loop of a worker process: it reads jobs from in, one JSON object a line,
// and writes a reply to out for each, until in ends. It boots the template of the first
// job, and runs each job in a copy of itself.
//
// Between two jobs it only reads, forks, waits and passes on bytes; copies do everything
// else. Packages that the code under test uses keep state, such as encoding/json's cache of
// types, and every run must begin with the same state.
func Work(in io.Reader, out io.Writer, targets func(name string) (target.Target, error)) error {
	debug.SetGCPercent(-1)
	runtime.MemProfileRate = 0    // no profile is read
	_, _ = json.Marshal(Answer{}) // fills the cache of encoding/json before the first fork
	w := &worker{lines: bufio.NewScanner(in), out: out}
	w.lines.Buffer(make([]byte, 64<<10), maxLine)
	if !w.lines.Scan() {
		return w.lines.Err()
	}
	if err := w.read(); err != nil {
		return err
	}
	if w.job.Protocol != protocol {
		return w.reply(Answer{Error: ErrProtocol.Error()})
	}
	w.limits = w.job.Limits
	made, err := targets(w.job.Spec.Target)
	if err == nil && !w.job.InPlace {
		err = fork.OwnProgram()
	}
	if err == nil {
		w.tape, err = mapTape(w.job.TapeFile)
	}
	if err == nil {
		w.ends, err = newEnds()
	}
	if err != nil {
		return w.reply(Answer{Error: err.Error()})
	}
	var log *sim.Logbook
	if w.job.Log != "" {
		log = &sim.Logbook{}
	}
	if w.job.Session {
		if w.visited, err = visit(w.job.Limits); err != nil {
			return err
		}
	}
	run, err := scenario.Execute(w.job.Spec.Template(), made, log, w.begin)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case w.visited != nil && err != nil:
		w.visited.answer(Standing{Error: err.Error()})
		return nil
	case w.visited != nil:
		w.visited.over(run)
	}
	debug.SetMemoryLimit(judgeMemory)
	answer := Answer{}
	if err == nil {
		answer, err = w.answer(run, log)
	}
	if err != nil {
		answer = Answer{Error: err.Error()}
	}
	return w.reply(answer)
}

// worker does one job after another.
type worker struct {
	lines  *bufio.Scanner // of jobs; the last is the one to be done
	out    io.Writer
	job    Job
	limits fork.Limits // of all copies
	tape   []byte      // shared with the copies
	copy   *fork.Copy  // this process, if it is a copy
	forks  [][][]byte  // replies of the job's forks so far

	answers []byte // memory for what copies answer

	visited *visited // in a session

	marks  []sim.Mark // where the job's run forks, and then where it is looked at
	forked int        // so many of them are forks
	skip   int        // so many of them are not for this copy, which has deviated
	looks  []explore.Look
	plain  int    // the first decision behind that at which this process became the copy that it is
	whole  bool   // the run is judged whatever its end
	ends   ends   // of the windows of runs so far, shared with copies
	end    uint64 // of this run's window
}

// read decodes the job from its line.
func (w *worker) read() error {
	w.job = Job{}
	if err := json.Unmarshal(w.lines.Bytes(), &w.job); err != nil {
		return fmt.Errorf("expected a job as JSON: %w", err)
	}
	return nil
}

// begin is called when the template has booted. In the worker itself it returns when there
// are no more jobs; in a copy, and for a job in place, it returns the run that begins.
func (w *worker) begin() (scenario.Spec, scenario.Options, error) {
	if w.job.InPlace {
		return w.job.Spec, w.options(), nil
	}
	for more := true; more; more = w.lines.Scan() {
		clearTape(w.tape)
		made, err := fork.Now(w.limits)
		if err == nil && made.Inside() {
			w.copy = made
			err := w.read()
			return w.job.Spec, w.options(), err
		}
		var line []byte
		if err == nil {
			line, err = w.await(made)
		}
		if err == nil {
			_, err = w.out.Write(line)
		}
		if err != nil {
			return scenario.Spec{}, scenario.Options{}, err
		}
	}
	return scenario.Spec{}, scenario.Options{}, io.EOF
}

// await waits for a copy and returns its reply. If it left none, another copy writes why.
func (w *worker) await(made *fork.Copy) (reply []byte, err error) {
	w.answers, err = made.Answer(w.answers, w.explain)
	return w.answers, err
}

// options returns the options of the job's run.
func (w *worker) options() scenario.Options {
	job := w.job
	options := scenario.Options{
		Config: sim.Config{
			Record: job.Folder != "" || job.Details, BreakAt: job.BreakAt, Stop: job.Stop,
			Trace: job.Trace != "" || job.Details || job.Folder != "", TraceRecords: job.traceRecords(),
		},
		Tape: job.Tape, Until: job.Until, Begun: w.begun,
	}
	if job.Folder != "" {
		options.RecordInto = w.tape
	}
	for _, fork := range job.Forks {
		w.marks = append(w.marks, fork.At)
	}
	w.forked = len(w.marks)
	w.marks = append(w.marks, job.looksAt()...)
	options.Mark, options.AtMark = w.mark, w.branch
	if job.NewEnds {
		options.Closed = w.closed
	}
	return options
}

// begun limits the copy, once the run has reserved its buffers.
func (w *worker) begun(world *sim.World) {
	if w.visited != nil {
		w.visited.begun(world)
	}
	if w.copy == nil {
		return
	}
	if err := w.copy.Limit(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnlimited)
	}
}

// mark returns where the run pauses next: at forks, at looks, and in an exploring copy after
// each decision.
func (w *worker) mark(world *sim.World, number int) (at sim.Mark, any bool) {
	switch number += w.skip; {
	case number < len(w.marks):
		return w.marks[number], true
	case w.plain == 0 || !w.job.NewEnds || w.whole:
		return at, false
	}
	return sim.Mark{Decision: max(uint64(w.plain), world.Progress().Decisions) + 1}, true
}

// branch is called at a mark. At a fork it makes a copy of the run for each way, one after
// the other.
func (w *worker) branch(world *sim.World, run *scenario.Run, number int) {
	switch number += w.skip; {
	case number >= len(w.marks):
		w.known(world)
		return
	case number >= w.forked:
		w.looks = append(w.looks, explore.Look{At: w.marks[number].Instant, States: run.Look(world)})
		return
	}
	var replies [][]byte
	for _, way := range w.job.Forks[number].Ways {
		made, err := fork.Now(w.limits)
		if err == nil && made.Inside() {
			w.copy, w.forks = made, nil
			w.job.Forks, w.job.OnlyForks, w.job.Folder = nil, false, ""
			w.plain, w.whole = int(world.Progress().Decisions)+1, way.Whole
			w.skip = w.forked - 1 - number
			if way.Tape == nil {
				run.Branch(world, way.Branch, false)
			} else {
				world.Follow(sim.FromOpenTape(w.job.Spec.Seed, sim.Remaining(way.Tape, world.Progress().Decisions)))
			}
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
		replies = append(replies, bytes.Clone(line))
	}
	w.forks = append(w.forks, replies)
	if w.job.OnlyForks && number == len(w.job.Forks)-1 {
		_ = w.reply(Answer{})
	}
}

// looksAt returns the marks at which the job's run is looked at.
func (j Job) looksAt() (marks []sim.Mark) {
	if j.Looks == 0 {
		return nil
	}
	first := j.Looks
	if n := len(j.Spec.Branches); n > 0 {
		first += j.Spec.Branches[n-1].At.Instant
	}
	if n := len(j.Forks); n > 0 {
		first = j.Looks + j.Forks[n-1].At.Instant
	}
	for at := first; at < j.Spec.Duration-j.Spec.QuietPhase(); at += j.Looks {
		marks = append(marks, sim.Mark{Instant: at})
	}
	return marks
}

// exitUnlimited is the exit status of a copy that could not be limited.
const exitUnlimited = 124

// explain leaves, in another copy, with a reply that says how a copy ended, and writes what
// is known of its run.
func (w *worker) explain(another *fork.Copy, ended fork.Ended) {
	died := diedOf(ended)
	err := w.read()
	if err == nil {
		err = w.salvage(died)
	}
	if err != nil {
		died += "\nwhat is known of the run could not be written: " + err.Error()
	}
	line, _ := json.Marshal(Reply{Died: died, Cause: ended.Cause(), Processor: ended.Processor, Memory: ended.Memory})
	another.Leave(append(line, '\n'))
}

// diedOf says how a copy ended, and what it wrote.
func diedOf(ended fork.Ended) string {
	if len(ended.Output) == 0 {
		return ended.Why()
	}
	said := &complaint{}
	_, _ = said.Write(ended.Output)
	text := said.String()
	if strings.HasPrefix(text, "panic: ") {
		return ended.Why() + ": " + text
	}
	return ended.Why() + "\n" + text
}

// salvage writes what is known of a run that ended its process: its spec, and the decisions
// so far.
func (w *worker) salvage(died string) error {
	if w.job.Folder == "" {
		return nil
	}
	text := fmt.Sprintf("%v: seed %d: %s\n", ErrDied, w.job.Spec.Seed, died)
	return scenario.WriteUnfinished(w.job.Folder, w.job.Spec, scenario.CurrentBuild(), sim.Trimmed(w.tape), text)
}

// reply writes the reply for a run, and is the last thing that a copy does.
func (w *worker) reply(answer Answer) error {
	for _, lines := range w.forks {
		replies := make([]Reply, len(lines))
		for i, line := range lines {
			if err := json.Unmarshal(line, &replies[i]); err != nil {
				return fmt.Errorf("expected the reply of a copy: %w", err)
			}
		}
		answer.Forks = append(answer.Forks, replies)
	}
	content, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	line, err := json.Marshal(Reply{
		Answer: content, Processor: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), Memory: usage.Maxrss << 10,
	})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if w.copy != nil {
		w.copy.Leave(line)
	}
	_, err = w.out.Write(line)
	return err
}

// answer writes the artifacts of a run, checks its history, and returns the answer.
func (w *worker) answer(run *scenario.Run, log *sim.Logbook) (Answer, error) {
	job := w.job
	if job.Folder != "" {
		if err := run.Write(job.Folder, scenario.CurrentBuild()); err != nil {
			return Answer{}, err
		}
	}
	if log != nil {
		if err := writeLog(job.Log, log, run); err != nil {
			return Answer{}, err
		}
	}
	verdict := run.Judge()
	verdict.Folder = job.Folder
	if job.Folder != "" {
		if err := errors.Join(verdict.WriteVerdict(job.Folder, run.Report(verdict, true)), run.WriteTimeline(job.Folder, verdict)); err != nil {
			return Answer{}, err
		}
	}
	if job.Trace != "" {
		if err := writeTrace(job.Trace, run.Result.Trace); err != nil {
			return Answer{}, err
		}
	}
	answer := Answer{
		Verdict: verdict, Report: run.Report(verdict, job.Verbose), Diverged: run.Result.Diverged, Began: run.Began,
		Looks: w.looks, Explored: w.explored(run),
	}
	if job.Details {
		answer.Details = &Details{
			Plan: run.Plan.String(), Parts: run.Parts, Tape: run.Result.Tape,
			Forced: run.Result.Trace.Forced(), Schedule: run.Schedule,
		}
	}
	return answer, nil
}

// writeLog writes what a run has logged, in times of its history.
func writeLog(path string, log *sim.Logbook, run *scenario.Run) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	return errors.Join(log.Print(out, run.Result, run.Began), out.Flush(), file.Close())
}
