package swarm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
)

// Visit is a place in a run at which it pauses.
type Visit struct {
	// Decision is the number of decisions before it; if that is 0, At is the time since
	// the world began.
	Decision uint64        `json:"decision,omitempty"`
	At       time.Duration `json:"at,omitempty"`
	// Stacks asks where every goroutine is.
	Stacks bool `json:"stacks,omitempty"`
	// Quit ends the session instead.
	Quit bool `json:"quit,omitempty"`
}

// Standing describes a paused run, or says why the run did not pause.
type Standing struct {
	// At is the time since the world began, Decisions how many there have been.
	At        time.Duration `json:"at"`
	Decisions uint64        `json:"decisions"`
	Hash      uint64        `json:"hash"`
	Stacks    string        `json:"stacks,omitempty"`
	// Over says why the run ended before the requested place, and Died how its process ended, if it
	// did; the run then stays where it was.
	Over string `json:"over,omitempty"`
	Died string `json:"died,omitempty"`
	// Error is why the run could not begin.
	Error string `json:"error,omitempty"`
}

// Session is a run that is visited at one place after another, forwards and backwards.
type Session struct{ worker *process }

// Visiting begins a session at the beginning of a job's run.
func Visiting(ctx context.Context, binary string, job Job, limits Limits) (*Session, Standing, error) {
	job.Protocol, job.Session, job.InPlace, job.Limits = protocol, true, true, limits.Run
	worker, err := startProcess(binary, job.kind())
	if err != nil {
		return nil, Standing{}, err
	}
	context.AfterFunc(ctx, worker.kill)
	s := &Session{worker}
	at, err := s.ask(job)
	if err != nil {
		s.Close()
	}
	return s, at, err
}

// Go pauses the run at a place.
func (s *Session) Go(to Visit) (Standing, error) { return s.ask(to) }

func (s *Session) ask(question any) (at Standing, err error) {
	if s.worker.ask(question, &at) != nil {
		s.worker.wait()
		return at, fmt.Errorf("%w: %s", ErrDied, s.worker.errors)
	}
	if at.Error != "" {
		err = errors.New(at.Error)
	}
	return at, err
}

// Close ends the session.
func (s *Session) Close() { s.worker.wait() }

// checkpointEvery is the simulated time between two checkpoints of a session. Each is a paused copy
// of the process.
const checkpointEvery = time.Second

// visited is the worker's side of a session, in the worker itself and in each copy. Every copy
// pauses at one place while a copy of its own runs on. The furthest one reads questions; asked for
// an earlier place, it exits and hands the question back.
type visited struct {
	in     *bufio.Reader
	out    *os.File
	limits fork.Limits

	copy  *fork.Copy    // this process, nil for the worker
	at    time.Duration // where the run is, since the world began
	mark  sim.Mark      // where this copy was to pause
	to    Visit         // the requested place
	world *sim.World
}

// visit begins a session in this worker.
func visit(limits fork.Limits) (*visited, error) {
	in, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("cannot answer: %w", err)
	}
	// A person may think for hours.
	limits.Clock = 24 * time.Hour
	return &visited{in: bufio.NewReader(os.NewFile(uintptr(in), "questions")), out: os.NewFile(uintptr(out), "answers"), limits: limits}, nil
}

// begun is called when the run begins.
func (v *visited) begun(world *sim.World) {
	v.world = world
	v.at = world.Progress().Now
	v.answer(v.standing())
	v.listen()
	v.stand()
}

// stand is called when the run pauses.
func (v *visited) stand() {
	here := v.world.Progress()
	if v.copy != nil {
		v.at = here.Now
		if v.mark.Decision == 0 || here.Decisions < v.mark.Decision {
			v.at = v.mark.Instant // nothing happens before it
		}
		if !v.to.ahead(v.at, here.Decisions) {
			v.answer(v.standing())
			v.listen()
		}
	}
	for {
		switch {
		case v.to.Quit || v.copy != nil && v.to.behind(v.at, here.Decisions):
			v.leave()
		case !v.to.ahead(v.at, here.Decisions):
			v.answer(v.standing())
			v.listen()
			continue
		}
		made, err := fork.Now(v.limits)
		if err != nil {
			v.answer(Standing{Error: err.Error()})
			v.leave()
		}
		if made.Inside() {
			v.copy = made
			v.mark = sim.Mark{Decision: v.to.Decision, Instant: v.at + checkpointEvery}
			if v.to.Decision == 0 {
				v.mark.Instant = min(v.mark.Instant, v.to.At)
			}
			v.world.PauseAt(v.mark, v.stand)
			return
		}
		ended, err := made.Wait(nil)
		if err == nil && ended.Well() {
			err = json.Unmarshal(ended.Answer, &v.to)
		}
		if err != nil || !ended.Well() {
			died := v.standing()
			died.Died = diedOf(ended)
			v.answer(died)
			v.listen()
		}
	}
}

// over is called when the run has ended.
func (v *visited) over(run *scenario.Run) {
	over := v.standing()
	over.Over = run.Result.Stop.String()
	v.at, over.At = run.Result.Simulated, run.Result.Simulated
	for {
		v.answer(over)
		v.listen()
		if v.to.Quit || v.to.behind(v.at, over.Decisions) {
			v.leave()
		}
	}
}

// ahead and behind report whether a place is ahead of or behind the run.
func (v Visit) ahead(at time.Duration, decisions uint64) bool {
	return v.Decision > decisions || v.Decision == 0 && v.At > at
}

func (v Visit) behind(at time.Duration, decisions uint64) bool {
	return v.Decision > 0 && v.Decision < decisions || v.Decision == 0 && v.At < at
}

// standing describes where the run is.
func (v *visited) standing() Standing {
	here := v.world.Progress()
	s := Standing{At: here.Now, Decisions: here.Decisions, Hash: here.Hash}
	if v.to.Stacks {
		s.Stacks = v.world.Stacks()
	}
	return s
}

func (v *visited) answer(s Standing) {
	if err := json.NewEncoder(v.out).Encode(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnlimited)
	}
}

// listen reads the next place. The end of the input means quit.
func (v *visited) listen() {
	line, err := v.in.ReadBytes('\n')
	v.to = Visit{}
	if err == nil {
		err = json.Unmarshal(line, &v.to)
	}
	v.to.Quit = v.to.Quit || err != nil
}

// leave ends this process and hands the question to the copy that it was forked from.
func (v *visited) leave() {
	if v.copy == nil {
		os.Exit(0)
	}
	line, err := json.Marshal(v.to)
	if err != nil {
		os.Exit(exitUnlimited)
	}
	v.copy.Leave(line)
}
