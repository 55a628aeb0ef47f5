package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Parse reads a plan: one fault a line, empty lines and comments from # to the
// end of a line aside.
//
//	at DURATION KIND NAME=VALUE...
//	between DURATION and DURATION on POINT NUMBER of PROCESS KIND NAME=VALUE...
//
// An error names the line and the column, what was expected there, and what was
// found. Whether a cluster has what the lines name, and whether they contradict
// each other, is for [Plan.Check].
func Parse(text string) (Plan, error) {
	if version, ok := strings.CutPrefix(text, planHeaderPrefix); ok {
		version, _, _ = strings.Cut(version, "\n")
		if version = strings.TrimSpace(version); version != planVersion {
			return nil, fmt.Errorf("faults: line 1, column %d: expected a plan of version %s, found %q",
				len(planHeaderPrefix)+1, planVersion, version)
		}
	}
	var plan Plan
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		words := wordsOf(line)
		if words.left() == 0 {
			continue
		}
		fault, err := parseFault(words)
		if err != nil {
			return nil, fmt.Errorf("faults: line %d, column %d: %w", number, words.column, err)
		}
		plan = append(plan, fault)
	}
	return plan, nil
}

// words are those of a line, taken one after the other. column is where the last
// one taken begins, counted in characters from 1, or where the line ends.
type words struct {
	rest   string
	column int
	next   int // the column at which rest begins
}

func wordsOf(line string) *words {
	w := &words{rest: strings.TrimRightFunc(line, unicode.IsSpace), next: 1}
	w.skipSpace()
	return w
}

// left is how many words have not been taken.
func (w *words) left() int { return len(strings.Fields(w.rest)) }

// take returns the next word, "" at the end.
func (w *words) take() string {
	end := strings.IndexFunc(w.rest, unicode.IsSpace)
	if end < 0 {
		end = len(w.rest)
	}
	word := w.rest[:end]
	w.column = w.next
	w.advance(end)
	w.skipSpace()
	return word
}

func (w *words) skipSpace() {
	w.advance(len(w.rest) - len(strings.TrimLeftFunc(w.rest, unicode.IsSpace)))
}

func (w *words) advance(size int) {
	w.next += utf8.RuneCountInString(w.rest[:size])
	w.rest = w.rest[size:]
}

// parseFault reads the words of one line, of which there is at least one.
func parseFault(line *words) (fault Fault, err error) {
	if err := parseWhen(line, &fault); err != nil {
		return fault, err
	}
	name := line.take()
	kind, ok := Lookup(name)
	if !ok {
		return fault, fmt.Errorf("expected one of the kinds %s, found %q", kindNames(), name)
	}
	fault.Kind = kind.Name
	return fault, parseArguments(line, kind, &fault)
}

// parseWhen reads when a fault begins.
func parseWhen(line *words, fault *Fault) (err error) {
	switch word := line.take(); word {
	case "at":
		fault.At, err = parseTime(line, "at")
		return err
	case "between":
	default:
		return fmt.Errorf("expected a line to begin with at or between, found %q", word)
	}
	if fault.At, err = parseTime(line, "between"); err != nil {
		return err
	}
	if word := line.take(); word != "and" {
		return fmt.Errorf("expected and, found %q", word)
	}
	if fault.Until, err = parseTime(line, "and"); err != nil {
		return err
	}
	if fault.Until <= fault.At {
		return fmt.Errorf("expected a time after %v, found %v", fault.At, fault.Until)
	}
	if word := line.take(); word != "on" {
		return fmt.Errorf("expected on, found %q", word)
	}
	if fault.Point = line.take(); !isPoint(fault.Point) {
		return fmt.Errorf("expected one of the points %s, found %q", pointNames(), fault.Point)
	}
	word := line.take()
	if fault.Number, err = strconv.Atoi(word); err != nil || fault.Number < 1 {
		return fmt.Errorf("expected which %s it is, as a number above zero, found %q", fault.Point, word)
	}
	if word := line.take(); word != "of" {
		return fmt.Errorf("expected of, found %q", word)
	}
	if fault.Process = line.take(); fault.Process == "" {
		return fmt.Errorf(`expected the name of an API server or an etcd member, found ""`)
	}
	return nil
}

func parseTime(line *words, after string) (time.Duration, error) {
	word := line.take()
	at, err := time.ParseDuration(word)
	if err != nil || at < 0 {
		return 0, fmt.Errorf("expected a time since the start such as 12.5s after %s, found %q", after, word)
	}
	return at, nil
}

// parseArguments reads the parameters of a kind, each of them once.
func parseArguments(line *words, kind Kind, fault *Fault) error {
	given := map[string]bool{}
	for line.left() > 0 {
		word := line.take()
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("expected name=value after %s, found %q", kind.Name, word)
		}
		if given[name] {
			return fmt.Errorf("expected %s once, found it twice", name)
		}
		given[name] = true
		parameter, ok := kind.parameter(name)
		if !ok {
			return fmt.Errorf("expected %s of %s, found %q", kind.parameterNames(), kind.Name, name)
		}
		if parameter.set(fault, value) != nil {
			return fmt.Errorf("expected %s after %s=, found %q", parameter.Expects, name, value)
		}
	}
	for _, parameter := range kind.Parameters {
		if !given[parameter.Name] {
			line.take() // the end of the line is where it is missing
			return fmt.Errorf("expected %s= with %s, found none for %s", parameter.Name, parameter.Expects, kind.Name)
		}
	}
	return nil
}

func (k Kind) parameter(name string) (Parameter, bool) {
	for _, parameter := range k.Parameters {
		if parameter.Name == name {
			return parameter, true
		}
	}
	return Parameter{}, false
}

func (k Kind) parameterNames() string {
	if len(k.Parameters) == 0 {
		return "no parameters"
	}
	var names []string
	for _, parameter := range k.Parameters {
		names = append(names, parameter.Name)
	}
	return "the parameters " + strings.Join(names, ", ")
}
