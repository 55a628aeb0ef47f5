package swarm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/scenario"
	"github.com/watchsim/watchsim/sim/target"
)

// ProfileVariable names the environment variable with the absolute path of the
// CPU profile that a worker is to write. Use it with one worker.
const ProfileVariable = "SIMRUN_CPUPROFILE"

// collectAbove is how much the heap may grow between two collections: the
// collector is off during runs.
const collectAbove = 320 << 20

// lineMost bounds a line of the protocol; a tape is the largest part of one.
const lineMost = 256 << 20

// Work is the life of a worker process: it reads jobs from in, one JSON object
// a line, and writes an answer to out for each, until in ends. dir is a folder
// of its own, which whoever started it removes.
func Work(dir string, in io.Reader, out io.Writer, targets func(name string) (target.Target, error)) error {
	// Relative paths are the same in every worker.
	if err := os.Chdir(dir); err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	if path := os.Getenv(ProfileVariable); path != "" {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	w := &worker{targets: targets, warm: map[string]bool{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), lineMost)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var job Job
		if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
			return fmt.Errorf("expected a job as JSON: %w", err)
		}
		answer := w.do(job)
		w.collect()
		answer.Memory = residentBytes()
		answer.Processor = w.processorTime()
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// worker does one job after another.
type worker struct {
	targets func(name string) (target.Target, error)
	warm    map[string]bool
	after   uint64        // size of the heap after the last collection
	used    time.Duration // processor time at the last answer
}

// dataDir is where the members of a run keep their files. It has the same name
// in every run.
const dataDir = "data"

// tapeSoFar is the file with the tape of a run that is to leave a folder. It is there
// if the worker dies.
const tapeSoFar = "tape"

func (w *worker) do(job Job) Answer {
	if job.Protocol != protocol {
		return Answer{Error: ErrProtocol.Error()}
	}
	made, err := w.targets(job.Spec.Target)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	if err := w.warmUp(job.Spec.Target, made); err != nil {
		return Answer{Error: "warming up: " + err.Error()}
	}
	var log *sim.Logbook
	if job.Log != "" {
		log = &sim.Logbook{}
	}
	recordFile := ""
	if job.Folder != "" {
		recordFile = tapeSoFar
	}
	run, err := w.execute(job.Spec, made, scenario.Options{
		Until: job.Until, BreakAt: job.BreakAt, Stop: job.Stop, Log: log,
		Record: job.Folder != "" || job.Details, RecordFile: recordFile, Tape: job.Tape,
		Trace: job.Trace != "" || job.Details || job.Folder != "", TraceRecords: job.traceRecords(),
	})
	if job.Folder != "" {
		os.Remove(tapeSoFar)
		defer sim.ForgetTrace()
	}
	if err != nil {
		return Answer{Error: err.Error()}
	}
	if job.Folder != "" {
		if err := run.Write(job.Folder, scenario.CurrentBuild()); err != nil {
			return Answer{Error: err.Error()}
		}
	}
	if log != nil {
		if err := writeLog(job.Log, log, run); err != nil {
			return Answer{Error: err.Error()}
		}
	}
	verdict := run.Judge()
	verdict.Folder = job.Folder
	report := run.Report(verdict)
	if job.Folder != "" {
		if err := errors.Join(verdict.WriteVerdict(job.Folder, report), run.WriteTimeline(job.Folder, verdict)); err != nil {
			return Answer{Error: err.Error()}
		}
	}
	if job.Trace != "" {
		if err := writeTrace(job.Trace, run.Result.Trace); err != nil {
			return Answer{Error: err.Error()}
		}
	}
	answer := Answer{Verdict: verdict, Report: report, Diverged: run.Result.Diverged, Began: run.Began}
	if answer.Explored, err = explored(run, job.Choices); err != nil {
		return Answer{Error: err.Error()}
	}
	if job.Details {
		answer.Details = &Details{
			Plan: run.Plan.String(), Parts: run.Parts, Tape: run.Result.Tape,
			Forced: run.Result.Trace.Forced(run.Schedule), Schedule: run.Schedule,
		}
	}
	return answer
}

func (w *worker) execute(spec scenario.Spec, made target.Target, options scenario.Options) (*scenario.Run, error) {
	options.Dir = dataDir
	if err := os.Mkdir(dataDir, 0o700); err != nil {
		return nil, err
	}
	run, err := scenario.Execute(spec, made, options)
	return run, errors.Join(err, os.RemoveAll(dataDir))
}

// warmSeeds are the runs that do not count. They are rich in faults, so that
// what is initialised lazily is so before a run that counts.
var warmSeeds = []uint64{1, 2}

func (w *worker) warmUp(name string, made target.Target) error {
	if w.warm[name] {
		return nil
	}
	w.warm[name] = true
	spec, err := scenario.Named("storm")
	if err != nil {
		return err
	}
	spec.Target = name
	for _, seed := range warmSeeds {
		spec.Seed = seed
		if _, err := w.execute(spec, made, scenario.Options{}); err != nil {
			return err
		}
	}
	w.collect()
	return nil
}

// collect collects garbage if the heap has grown much since it last did.
func (w *worker) collect() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	if stats.HeapAlloc < w.after+collectAbove {
		return
	}
	runtime.GC()
	runtime.ReadMemStats(&stats)
	w.after = stats.HeapAlloc
}

// processorTime is the processor time that was used since it was last asked for.
func (w *worker) processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	before := w.used
	w.used = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return w.used - before
}

// residentBytes is the process' resident memory, 0 where that is not known.
func residentBytes() int64 {
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(status))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
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
