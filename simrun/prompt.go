package simrun

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/swarm"
)

// promptHelp lists the commands of the prompt.
const promptHelp = `  to PLACE     go to a place, forwards or backwards: ` + whereForms + `
  step [N]     go N decisions forwards, 1 if N is left out
  back [N]     go N decisions backwards; or back 500ms
  stacks       show where every goroutine is
  last [N]     show the last N events of the history before this place
  help         show this
  quit         end
`

// prompt is an interactive walk through a recorded run.
type prompt struct {
	out     io.Writer
	folder  string
	began   time.Duration // origin of the history's times
	session *swarm.Session
	here    swarm.Standing
	moments []explain.Moment
}

// walk reads commands and moves the run to the places that they name.
func (f *replayFlags) walk(command *cobra.Command, binary, folder string, recorded scenario.Recorded) error {
	job := swarm.Job{Spec: recorded.Spec, Tape: recorded.Tape}
	session, here, err := swarm.Visiting(command.Context(), binary, job, swarm.DefaultLimits())
	if err != nil {
		return err
	}
	defer session.Close()
	p := &prompt{out: command.OutOrStdout(), folder: folder, began: recorded.Began, session: session, here: here}
	p.moments, _ = momentsOf(folder) // a run that died has none
	fmt.Fprintf(p.out, "seed %d stands at its beginning; it can go to any place, forwards and backwards\n%s", recorded.Spec.Seed, promptHelp)
	lines := bufio.NewScanner(command.InOrStdin())
	for p.ask(); lines.Scan(); p.ask() {
		again, err := p.obey(strings.Fields(lines.Text()))
		if err != nil {
			fmt.Fprintf(p.out, "  %v\n", err)
		}
		if !again {
			return nil
		}
	}
	fmt.Fprintln(p.out)
	return lines.Err()
}

// at is where the run is, on the history's clock.
func (p *prompt) at() time.Duration { return p.here.At - p.began }

func (p *prompt) ask() {
	fmt.Fprintf(p.out, "%.6fs, decision %d> ", p.at().Seconds(), p.here.Decisions)
}

// obey carries out a command, and reports whether to read another one.
func (p *prompt) obey(words []string) (again bool, err error) {
	if len(words) == 0 {
		return true, nil
	}
	argument := strings.Join(words[1:], " ")
	switch words[0] {
	case "to":
		return true, p.to(argument)
	case "step":
		n, err := count(argument, 1)
		if err == nil {
			err = p.visit(swarm.Visit{Decision: p.here.Decisions + n})
		}
		return true, err
	case "back":
		return true, p.back(argument)
	case "stacks":
		return true, p.stacks()
	case "last":
		n, err := count(argument, lastShown)
		if err == nil {
			p.show(-1, int(n))
		}
		return true, err
	case "help":
		fmt.Fprint(p.out, promptHelp)
		return true, nil
	case "quit", "exit", "q":
		return false, nil
	}
	return true, fmt.Errorf("expected to, step, back, stacks, last, help or quit, found %q", words[0])
}

// count parses a number; the default is n.
func count(text string, n uint64) (uint64, error) {
	if text == "" {
		return n, nil
	}
	found, err := strconv.ParseUint(text, 10, 32)
	if err != nil || found == 0 {
		return 0, fmt.Errorf("expected a number of at least 1, found %q", text)
	}
	return found, nil
}

func (p *prompt) to(text string) error {
	place, err := parseWhere(text, func() (*model.History, error) { return historyAt(p.folder) })
	if err != nil {
		return err
	}
	return p.visit(swarm.Visit{Decision: place.decision, At: p.began + place.at})
}

// back goes back by decisions or by time.
func (p *prompt) back(text string) error {
	if by, err := time.ParseDuration(text); err == nil && by > 0 {
		return p.visit(swarm.Visit{At: max(p.here.At-by, 0)})
	}
	n, err := count(text, 1)
	if err != nil {
		return err
	}
	return p.visit(swarm.Visit{Decision: p.here.Decisions - min(n, p.here.Decisions)}) // 0 is the beginning
}

func (p *prompt) stacks() error {
	here, err := p.session.Go(swarm.Visit{Decision: p.here.Decisions, At: p.here.At, Stacks: true})
	if err == nil {
		fmt.Fprint(p.out, here.Stacks)
	}
	return err
}

// visit goes to a place and shows what happened on the way.
func (p *prompt) visit(to swarm.Visit) error {
	from := p.at()
	here, err := p.session.Go(to)
	if err != nil {
		return err
	}
	p.here = here
	switch {
	case here.Died != "":
		fmt.Fprintf(p.out, "  the run does not get there: %s\n", strings.SplitN(here.Died, "\n", 2)[0])
	case here.Over != "":
		fmt.Fprintf(p.out, "  the run ended before: %s\n", here.Over)
	}
	p.show(from, lastShown)
	return nil
}

// show shows the last n events between a time and this place.
func (p *prompt) show(from time.Duration, n int) {
	fmt.Fprint(p.out, lastSteps(p.moments, from, p.at(), n))
}
