package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/timeline"
)

// The possible files of a run's folder; docs/run-folder.md describes them. All but
// verdict, report and timeline are written before the run is checked. Readers accept
// them with and without compression.
const (
	runFile       = "run.json"
	planFile      = "plan.txt"
	tapeFile      = "tape.bin"
	historyFile   = "history.jsonl"
	decisionsFile = "decisions.txt"
	stacksFile    = "stacks.txt"
	decisiveFile  = "decisive.json"
	verdictFile   = "verdict.json"
	reportFile    = "report.txt"
)

// runFormat and runVersion identify run.json. Version 1 recorded only the Go release of
// its build and did not compress large files. Version 2 had no branches.
const (
	runFormat  = "watchsim.run"
	runVersion = 3
)

// ErrFolder means that a folder does not contain a run that can be replayed.
var ErrFolder = errors.New("not a usable run folder")

// record is the content of run.json. Version 1 has only the Go release of its build.
type record struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Recorded
	Go string `json:"go,omitempty"`
}

// Recorded is a run read back from its folder.
type Recorded struct {
	Spec Spec   `json:"spec"`
	Hash string `json:"hash"`
	// Began is the time from the start of the world to time zero of the history, in
	// nanoseconds; 0 if the folder does not record it.
	Began time.Duration `json:"began,omitempty"`
	// Build is the binary that wrote the folder.
	Build Build `json:"build"`
	// Tape is in a file of its own, as is the plan of the spec.
	Tape []byte `json:"-"`
}

// Name returns the name of a run's folder: target, scenario, seed, mutant and use, and a
// hash of all options that differ from the scenario's.
func (s Spec) Name() string {
	name := fmt.Sprintf("%s-%s-%d", s.Target, s.Scenario, s.Seed)
	if s.Mutant != "" {
		name += "-" + s.Mutant
	}
	name += usedName(s.Use)
	usual, _ := Named(s.Scenario)
	usual.Target, usual.Mutant, usual.Use = s.Target, s.Mutant, s.Use
	usual, s.Given = usual.WithSeed(s.Seed), nil
	s = s.withoutDrawnPlan()
	if options := s.options(); !bytes.Equal(options, usual.options()) {
		h := fnv.New32a()
		h.Write(options)
		name += fmt.Sprintf("-%08x", h.Sum32())
	}
	return name
}

// majorVersion matches the redundant end of a module's path.
var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// usedName is what a folder's name says about other code: the version of each module, and a hash
// instead of a path.
func usedName(use string) (name string) {
	for one := range strings.SplitSeq(use, ",") {
		module, value, found := strings.Cut(one, "=")
		if !found {
			continue
		}
		if filepath.IsAbs(value) {
			h := fnv.New32a()
			h.Write([]byte(value))
			value = fmt.Sprintf("folder-%08x", h.Sum32())
		}
		name += "-" + path.Base(majorVersion.ReplaceAllString(module, "")) + "-" + value
	}
	return name
}

// options returns the spec as JSON.
func (s Spec) options() []byte {
	content, err := json.Marshal(s)
	if err != nil {
		panic(err) // every field of a spec can be marshalled
	}
	return content
}

// maxFolders is how many runs may share a name.
const maxFolders = 10_000

// NewFolder makes a folder for a run and returns its absolute path. If the path exists
// it makes PATH.2, PATH.3 and so on, so that no run overwrites another.
func NewFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	folder := path
	for n := 2; n <= maxFolders; n++ {
		if err := os.Mkdir(folder, 0o755); !errors.Is(err, fs.ErrExist) {
			return folder, err
		}
		folder = fmt.Sprintf("%s.%d", path, n)
	}
	return "", fmt.Errorf("expected fewer than %d folders named %s, found that many; move some away", maxFolders, path)
}

// Write writes all artifacts of the run to a folder, which it creates if necessary. It
// writes all files or none: if the disk is full, the artifacts of an earlier run stay
// intact.
func (r *Run) Write(folder string, build Build) error {
	return r.write(folder, build, fmt.Sprintf("%016x", r.Result.Hash), "")
}

// WriteUnfinished writes what is known of a run whose process died: its spec, the
// decisions so far without trailing default ones, and the reason. There is no hash and
// no history.
func WriteUnfinished(folder string, spec Spec, build Build, decisions []byte, report string) error {
	plan, err := spec.plan()
	if err != nil {
		return err
	}
	r := &Run{Spec: spec, Plan: plan, Result: &sim.Result{Tape: decisions}}
	return r.write(folder, build, "", report)
}

// write writes the parts of a run that exist, and removes those that an earlier one, or a user who
// decompressed its files, may have left.
func (r *Run) write(folder string, build Build, hash, report string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	about, err := r.about(build, hash)
	if err != nil {
		return err
	}
	history, decisions := absent(historyFile+traces.Zstd), absent(decisionsFile+traces.Zstd)
	if r.History != nil {
		history.write = func(w io.Writer) error {
			return traces.WriteHistory(w, traces.Header{Seed: r.Spec.Seed, Target: r.Spec.Target}, r.History)
		}
	}
	if r.Result.Trace != nil {
		decisions.write = func(w io.Writer) error { return sim.WriteDecisions(w, r.Result.Trace.Decisions()) }
	}
	return writeAll(folder, []file{
		text(runFile, about), text(planFile, r.Plan.String()), {tapeFile + traces.Zstd, r.writeTape}, history, decisions,
		text(stacksFile, r.Result.Stacks), text(reportFile, report),
		absent(tapeFile), absent(historyFile), absent(decisionsFile), absent(verdictFile), absent(decisiveFile),
		absent(timeline.File), absent(timeline.ReadsFile),
	})
}

// about returns the content of run.json.
func (r *Run) about(build Build, hash string) ([]byte, error) {
	spec := r.Spec
	spec.Plan = ""
	about, err := json.MarshalIndent(record{
		Format: runFormat, Version: runVersion, Recorded: Recorded{Spec: spec, Hash: hash, Began: r.Began, Build: build},
	}, "", "  ")
	return append(about, '\n'), err
}

func (r *Run) writeTape(w io.Writer) error {
	decisions := r.Result.Tape
	if r.Spec.Reduced != nil {
		decisions = sim.Trimmed(decisions)
	}
	return traces.WriteTape(w, traces.Tape{Seed: r.Spec.Seed, Decisions: decisions})
}

// WriteVerdict adds the verdict and the report for people.
func (v Verdict) WriteVerdict(folder, report string) error {
	object, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeAll(folder, []file{
		text(verdictFile, append(object, '\n')),
		text(reportFile, report),
	})
}

// Load reads a run's folder.
func Load(folder string) (Recorded, error) {
	r, err := loadRecord(folder)
	if err != nil {
		return Recorded{}, err
	}
	plan, err := readFile(folder, planFile)
	if err != nil {
		return Recorded{}, err
	}
	if _, err := faults.Parse(string(plan)); err != nil {
		return Recorded{}, fmt.Errorf("%w: %s: %w", ErrFolder, filepath.Join(folder, planFile), err)
	}
	content, err := readFile(folder, tapeFile)
	if err != nil {
		return Recorded{}, err
	}
	tape, err := traces.ReadTape(bytes.NewReader(content))
	if err != nil {
		return Recorded{}, fmt.Errorf("%w: %s: %w", ErrFolder, filepath.Join(folder, tapeFile), err)
	}
	if tape.Seed != r.Spec.Seed {
		return Recorded{}, fmt.Errorf("%w: %s: expected a tape of seed %d, found one of seed %d; it belongs to another run", ErrFolder, folder, r.Spec.Seed, tape.Seed)
	}
	r.Spec.Plan, r.Tape = string(plan), tape.Decisions
	return r, nil
}

// loadRecord reads run.json.
func loadRecord(folder string) (Recorded, error) {
	about, err := readFile(folder, runFile)
	if err != nil {
		return Recorded{}, err
	}
	var r record
	if err := json.Unmarshal(about, &r); err != nil || r.Format != runFormat {
		return Recorded{}, fmt.Errorf("%w: %s: expected JSON with the format %q in %s, found something else%s", ErrFolder, folder, runFormat, runFile, where(err))
	}
	if r.Version < 1 || r.Version > runVersion {
		return Recorded{}, fmt.Errorf("%w: %s: expected version 1 to %d in %s, found version %d; use the watchsim that wrote it", ErrFolder, folder, runVersion, runFile, r.Version)
	}
	if r.Build.Go == "" {
		r.Build.Go = r.Go
	}
	return r.Recorded, nil
}

// where returns the byte offset of a JSON error, if err is one.
func where(err error) string {
	var syntax *json.SyntaxError
	var misfit *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf(" at byte %d", syntax.Offset)
	case errors.As(err, &misfit):
		return fmt.Sprintf(" at byte %d, in the field %s", misfit.Offset, misfit.Field)
	}
	return ""
}

// HasRun reports whether a path is the folder of a run.
func HasRun(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, runFile))
	return err == nil
}

// WriteDecisive adds the decisions that matter, as JSON.
func WriteDecisive(folder string, content []byte) error {
	return writeAll(folder, []file{text(decisiveFile, content)})
}

// Decisions reads the decisions recorded in a run's folder. The error is fs.ErrNotExist if there
// are none.
func Decisions(folder string) ([]sim.Decision, error) {
	path, err := traces.FindIn(folder, decisionsFile)
	if err != nil {
		return nil, err
	}
	file, err := traces.OpenFile(path)
	if err != nil {
		return nil, err
	}
	var failed error
	decisions := slices.Collect(sim.ReadDecisions(file, &failed))
	return decisions, errors.Join(failed, file.Close())
}
