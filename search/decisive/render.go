package decisive

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim"
)

// turnsShown is the largest number of decisions for which all are described; of more, only the last
// one is.
const turnsShown = 6

// Text describes the decisions that matter. Times are on the history's clock.
func (e Explained) Text() string {
	found := e.Found
	p := &paper{began: e.Began, asked: e.Asked}
	switch {
	case found.None:
		p.say(2, "No decision of the scheduler matters: it fails even if goroutines take turns.")
		return p.b.String()
	case found.Last == 0 && found.Before > 0:
		p.say(2, "There was no time to find the last decision of the scheduler that it needs: it lies after decision %d and not "+
			"after decision %d. %d runs were made; a longer --budget tells more.", found.After, found.Before, found.Tried)
		return p.b.String()
	case found.Last == 0:
		p.say(2, "There was no time to find the last decision of the scheduler that it needs; a longer --budget tells more.")
		return p.b.String()
	}
	p.say(2, "The last decision of the scheduler that it needs is number %d: if all later ones are the default, the "+
		"guarantee is broken; if it is the default, too, the guarantee holds. %d choices before the violation are not the "+
		"default. %d runs were made.", found.Last, found.Choices, found.Tried)
	turns := e.Turns
	if others := len(found.Numbers) - 1; found.Singly > 0 && len(turns) <= turnsShown {
		p.say(2, "%d of %d choices before it matter each by itself.", others, found.Singly)
	} else {
		turns = turns[max(0, len(turns)-1):]
	}
	for i, turn := range turns {
		p.b.WriteString("\n")
		turn.write(p, i+1)
	}
	return p.b.String()
}

// paper collects the text of an explanation.
type paper struct {
	b            strings.Builder
	began, asked time.Duration
}

func (p *paper) say(indent int, format string, arguments ...any) {
	p.b.WriteString(explain.Wrap(indent, fmt.Sprintf(format, arguments...)) + "\n")
}

// clock formats a time on the history's clock.
func (p *paper) clock(at time.Duration) string { return fmt.Sprintf("%.3fs", (at - p.began).Seconds()) }

func (t Turn) write(p *paper, number int) {
	d := t.Decision
	what := map[sim.Kind]string{
		sim.KindPick:   fmt.Sprintf("goroutine #%d runs before %s that had waited longer", d.Goroutine, others(d.Chosen)),
		sim.KindYield:  fmt.Sprintf("goroutine #%d is interrupted, and others run first", d.Goroutine),
		sim.KindStall:  fmt.Sprintf("goroutine #%d is interrupted, and others run first", d.Goroutine),
		sim.KindFocus:  fmt.Sprintf("goroutine #%d is held up where it came by", d.Goroutine),
		sim.KindPoint:  fmt.Sprintf("goroutine #%d lets others go first", d.Goroutine),
		sim.KindLength: fmt.Sprintf("goroutine #%d is held up for %s", d.Goroutine, lasting(t.Held)),
		sim.KindSelect: fmt.Sprintf("goroutine #%d finds another case of a select ready first", d.Goroutine),
	}[d.Kind]
	short := ""
	if t.TooShort > 0 {
		short = fmt.Sprintf(" With %s the guarantee holds.", lasting(t.TooShort))
	}
	p.say(4, "%d. at %s %s (decision %d).%s", number, p.clock(d.At), what, d.Number, short)
	if len(t.Stood) > 0 {
		p.say(7, "it stood in %s", calls(t.Stood))
	}
	p.steps("before that it was in", t.Before)
	if len(t.Meanwhile) > 0 {
		if t.TooShort > 0 {
			p.say(7, "in the time that makes the difference, from %s to %s,", p.clock(t.from()), p.clock(t.until()))
		} else {
			p.say(7, "meanwhile")
		}
		p.doing(9, t.Meanwhile)
		if t.More > 0 {
			p.say(9, "and %d more were in other code", t.More)
		}
	}
	p.steps("then it went on in", t.After)
	for _, call := range t.UnderWay {
		call.write(p)
	}
}

func (u UnderWay) write(p *paper) {
	held := ""
	if u.Held > 0 {
		held = fmt.Sprintf(", held up there for %s by decision %d", lasting(u.Held), u.Decision)
	}
	p.say(7, "all that time goroutine #%d stood in %s between %s and %s%s. It had begun %sat %s, and had been in",
		u.Goroutine, u.Function, u.From, u.To, held, p.after(u.Since), p.clock(u.Since))
	p.steps("", u.Before)
	if len(u.Meanwhile) > 0 {
		p.say(7, "while it stood there, the caches' own goroutines came to")
	}
	p.doing(9, u.Meanwhile)
	p.steps("it then went on in", u.After)
}

// after says how long after the request in question something happened, if it did.
func (p *paper) after(at time.Duration) string {
	if p.asked == 0 || at < p.asked {
		return ""
	}
	return fmt.Sprintf("%v after the request in question, ", (at - p.asked).Round(time.Microsecond))
}

// doing lists what goroutines did, one line each: the innermost call of each step, and its time
// where that differs.
func (p *paper) doing(indent int, list []Doing) {
	for _, doing := range list {
		text, last := "", ""
		for i, step := range doing.Steps {
			if i > 0 {
				text += ", "
			}
			if at := p.clock(step.At); at != last {
				text, last = text+at+" ", at
			}
			text += calls(step.Calls[:1])
		}
		p.say(indent, "goroutine #%d: %s", doing.Goroutine, text)
	}
}

func (p *paper) steps(title string, steps []Step) {
	if len(steps) == 0 {
		return
	}
	if title != "" {
		p.say(7, "%s", title)
	}
	for _, s := range steps {
		p.say(9, "%s %s", p.clock(s.At), calls(s.Calls))
	}
}

// callsShown is how many calls of a stack are shown.
const callsShown = 3

// calls renders some calls as one line, innermost first.
func calls(list []sim.Call) string {
	var texts []string
	for i, c := range list {
		if i > 0 && list[i-1].Function == c.Function {
			continue // a function and what the compiler has put into it
		}
		if len(texts) < callsShown {
			texts = append(texts, c.Function+" ("+c.Place+")")
		}
	}
	return strings.Join(texts, " < ")
}

func others(n uint32) string {
	if n == 1 {
		return "another"
	}
	return fmt.Sprintf("%d others", n)
}

func lasting(d time.Duration) string { return d.Round(time.Millisecond).String() }
