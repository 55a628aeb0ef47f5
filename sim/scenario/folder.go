package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
)

// The files of a run's folder, those that there are. All but verdict and report
// are written before the run is judged.
const (
	runFile     = "run.json"
	planFile    = "plan.txt"
	tapeFile    = "tape.bin"
	historyFile = "history.jsonl"
	stacksFile  = "stacks.txt"
	verdictFile = "verdict.json"
	reportFile  = "report.txt"
)

// runFormat and runVersion identify run.json.
const (
	runFormat  = "watchsim.run"
	runVersion = 1
)

// ErrFolder means that a folder does not hold a run that can be replayed.
var ErrFolder = errors.New("not a usable run folder")

// record is what run.json holds.
type record struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Spec    Spec   `json:"spec"`
	Hash    string `json:"hash"`
	Go      string `json:"go"`
}

// Name is what a run's folder is called.
func (s Spec) Name() string {
	name := fmt.Sprintf("%s-%s-%d", s.Target, s.Scenario, s.Seed)
	if s.Mutant != "" {
		name += "-" + s.Mutant
	}
	return name
}

// Write writes everything that the run left behind to a folder, which is made.
// All files are written or none: what an earlier run has left in the folder
// stays whole if there is no room.
func (r *Run) Write(folder, goVersion string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	spec := r.Spec
	spec.Plan = ""
	about, err := json.MarshalIndent(record{runFormat, runVersion, spec, fmt.Sprintf("%016x", r.Result.Hash), goVersion}, "", "  ")
	if err != nil {
		return err
	}
	var tape, history bytes.Buffer
	decisions := r.Result.Tape
	if r.Spec.Reduced != nil {
		decisions = sim.Trimmed(decisions)
	}
	if err := traces.WriteTape(&tape, traces.Tape{Seed: r.Spec.Seed, Decisions: decisions}); err != nil {
		return err
	}
	header := traces.Header{Seed: r.Spec.Seed, Target: r.Spec.Target}
	if err := traces.WriteHistory(&history, header, r.History); err != nil {
		return err
	}
	return writeAll(folder, []file{
		{runFile, append(about, '\n')},
		{planFile, []byte(r.Plan.String())},
		{tapeFile, tape.Bytes()},
		{historyFile, history.Bytes()},
		{stacksFile, []byte(r.Result.Stacks)},
		{verdictFile, nil}, // an earlier run's
		{reportFile, nil},
	})
}

// WriteVerdict adds what the oracle says, and the report for people.
func (v Verdict) WriteVerdict(folder, report string) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeAll(folder, []file{
		{verdictFile, append(text, '\n')},
		{reportFile, []byte(report)},
	})
}

// Recorded is a run read back from its folder.
type Recorded struct {
	Spec Spec
	Hash string
	Tape []byte
}

// Load reads a run's folder.
func Load(folder string) (Recorded, error) {
	about, err := read(folder, runFile)
	if err != nil {
		return Recorded{}, err
	}
	var r record
	if err := json.Unmarshal(about, &r); err != nil || r.Format != runFormat {
		return Recorded{}, fmt.Errorf("%w: %s: expected JSON with the format %q in %s, found something else", ErrFolder, folder, runFormat, runFile)
	}
	if r.Version != runVersion {
		return Recorded{}, fmt.Errorf("%w: %s: expected version %d in %s, found version %d; use the watchsim that wrote it", ErrFolder, folder, runVersion, runFile, r.Version)
	}
	plan, err := read(folder, planFile)
	if err != nil {
		return Recorded{}, err
	}
	if _, err := faults.Parse(string(plan)); err != nil {
		return Recorded{}, fmt.Errorf("%w: %s: %w", ErrFolder, filepath.Join(folder, planFile), err)
	}
	content, err := read(folder, tapeFile)
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
	r.Spec.Plan = string(plan)
	return Recorded{Spec: r.Spec, Hash: r.Hash, Tape: tape.Decisions}, nil
}

// fileMost bounds what is read of a folder that may not be ours.
const fileMost = 1 << 30

func read(folder, name string) ([]byte, error) {
	file, err := os.Open(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: expected the file %s, found none; give the folder that a run has written", ErrFolder, filepath.Join(folder, name))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, fileMost))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return content, nil
}
