package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Topology names what a plan can act on.
type Topology struct {
	// Members are etcd's, Servers the API servers.
	Members, Servers []string
	// Clients are all clients, Consumers those of them that read streams.
	Clients, Consumers []string
}

// Misfit is what keeps a fault of a plan from happening, however the run goes.
type Misfit struct {
	plan Plan
	// fault is its place in the plan, and word what its line has to blame: the
	// name of a parameter, one of the words below, or nothing, which is all of it.
	fault int
	word  string
	// expected and found are clauses. other is the place of the fault that this one
	// contradicts, -1 for none.
	expected, found string
	other           int
	// line, column and otherLine are set by Locate.
	line, column, otherLine int
}

// The words of a line to blame that are no parameters: its kind, the process at
// whose point the fault waits, and the last of its times.
const (
	wordKind    = "kind"
	wordProcess = "process"
	wordTime    = "time"
)

// Error implements error. Before [Locate] it quotes the fault.
func (m *Misfit) Error() string {
	where, expected := fmt.Sprintf("%q", m.plan[m.fault]), m.expected
	if m.line > 0 {
		where = fmt.Sprintf("line %d, column %d", m.line, m.column)
	}
	if m.other >= 0 {
		expected = fmt.Sprintf("%q%s %s", m.plan[m.other], m.ofOther(), expected)
	}
	return fmt.Sprintf("faults: %s: expected %s, found %s", where, expected, m.found)
}

func (m *Misfit) ofOther() string {
	if m.otherLine == 0 {
		return ""
	}
	return fmt.Sprintf(" of line %d", m.otherLine)
}

// Locate has a [Misfit] name the line and the column in the text that the plan was
// parsed from, and returns any other error as it is. The text is empty for a plan that
// was drawn.
func Locate(err error, text string) error {
	var m *Misfit
	if text == "" || !errors.As(err, &m) {
		return err
	}
	located := *m
	located.line, located.column = position(text, m.fault, m.word)
	if m.other >= 0 {
		located.otherLine, _ = position(text, m.other, "")
	}
	return &located
}

// position is where a fault of a plan's text has a word, in characters from 1.
func position(text string, fault int, word string) (number, column int) {
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		words := wordsOf(line)
		if words.left() == 0 {
			continue
		}
		if fault > 0 {
			fault--
			continue
		}
		return number, columnOf(words, word)
	}
	return number, 0
}

// columnOf is where the words of a line that is right have one of them.
func columnOf(words *words, word string) int {
	words.take()
	first, last := words.column, 0
	for before := ""; words.left() > 0; {
		this := words.take()
		_, kind := Lookup(this)
		switch {
		case word == wordKind && kind,
			word == wordProcess && before == "of",
			strings.HasPrefix(this, word+"="):
			return words.column
		case isTime(this):
			last = words.column
		}
		before = this
	}
	if word == wordTime {
		return last
	}
	return first
}

func isTime(word string) bool {
	_, err := time.ParseDuration(word)
	return err == nil
}

// Check reports as a [Misfit] the first fault that cannot happen in this topology,
// however the run goes: for a name that does not exist, for too few members, for
// another fault that acts on the same at that time, or because it may outlast within,
// if that is not 0.
func (p Plan) Check(topology Topology, within time.Duration) error {
	for i, fault := range p {
		misfit := fault.check(topology, within)
		for j := 0; j < i && misfit == nil; j++ {
			if name, ok := contradict(p[j], fault, topology.Members); ok {
				misfit = &Misfit{expected: "to be over or yet to come", found: "that both act on " + name, other: j}
			}
		}
		if misfit != nil {
			misfit.plan, misfit.fault = p, i
			return misfit
		}
	}
	return nil
}

// contradict returns what two faults act on at one time, for sure: when one that
// waits for a point begins, nobody knows.
func contradict(one, other Fault, members []string) (name string, ok bool) {
	if one.Point != "" || other.Point != "" {
		return "", false
	}
	apart := one.End() <= other.At || other.End() <= one.At
	if apart && one.At != other.At {
		return "", false
	}
	return sharedHold(one, other, members)
}

// check is about the fault alone. It returns nil if the fault can happen.
func (f Fault) check(topology Topology, within time.Duration) *Misfit {
	misfit := func(word, expected, found string) *Misfit {
		return &Misfit{word: word, expected: expected, found: found, other: -1}
	}
	kind, ok := Lookup(f.Kind)
	if !ok {
		return misfit(wordKind, "one of the kinds "+kindNames(), fmt.Sprintf("%q", f.Kind))
	}
	if expected := kind.lacks(len(topology.Members)); expected != "" {
		return misfit(wordKind, expected, fmt.Sprint(len(topology.Members)))
	}
	if passing := topology.passing(f.Point); f.Point != "" && !slices.Contains(passing, f.Process) {
		return misfit(wordProcess, fmt.Sprintf("%s of one of %v", f.Point, passing), fmt.Sprintf("%q", f.Process))
	}
	for _, parameter := range kind.Parameters {
		known, isName := topology.names(parameter)
		if name := parameter.get(f); isName && !slices.Contains(known, name) {
			return misfit(parameter.Name, fmt.Sprintf("%s to be one of %v", parameter.Name, known), fmt.Sprintf("%q", name))
		}
	}
	if f.From != "" && f.From == f.To {
		return misfit(parameterTo.Name, "a link between two processes", f.From+" at both ends")
	}
	if within > 0 && f.End() > within {
		return misfit(wordTime, fmt.Sprintf("it to be over within the run, which takes %v", within), fmt.Sprint(f.End()))
	}
	return nil
}

// passing are the processes that get to a point.
func (t Topology) passing(name string) []string {
	if point, _ := lookupPoint(name); point.ofMember {
		return t.Members
	}
	return t.Servers
}

// names are the processes that a parameter can name; ok is false if it names none.
func (t Topology) names(parameter Parameter) (names []string, ok bool) {
	switch parameter.Name {
	case parameterMember.Name, parameterSurvivor.Name:
		return t.Members, true
	case parameterServer.Name:
		return t.Servers, true
	case parameterClient.Name:
		return t.Consumers, true
	case parameterProcess.Name:
		return slices.Concat(t.Members, t.Servers), true
	case parameterFrom.Name, parameterTo.Name:
		return slices.Concat(t.Members, t.Servers, t.Clients), true
	}
	return nil, false
}
