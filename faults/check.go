package faults

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Topology names what a plan can act on.
type Topology struct {
	// Members are the etcd members, Servers the API servers.
	Members, Servers []string
	// Certified are the API servers that serve HTTPS with certificates.
	Certified []string
	// Clients are all clients, Consumers those of them that read streams.
	Clients, Consumers []string
	// Programs are the clients that can crash.
	Programs []string
}

// Misfit is an error that says why a fault of a plan can never happen in this cluster.
type Misfit struct {
	plan Plan
	// fault is its index in the plan, and word the part of its line that is wrong: the
	// name of a parameter, one of the words below, or "" for the whole line.
	fault int
	word  string
	// expected and found are clauses. other is the index of the fault that this one
	// conflicts with, -1 for none.
	expected, found string
	other           int
	// line, column and otherLine are set by Locate.
	line, column, otherLine int
}

// The parts of a line that are not parameters: its kind, the process whose point the fault waits
// for, and the last of its times.
const (
	wordKind    = "kind"
	wordProcess = "of"
	wordTime    = "time"
)

// Error implements error. Before [Locate] it quotes the fault.
func (m *Misfit) Error() string {
	where, expected := fmt.Sprintf("%q", m.plan[m.fault]), m.expected
	if m.line > 0 {
		where = fmt.Sprintf("line %d, column %d", m.line, m.column)
	}
	if m.other >= 0 {
		other := fmt.Sprintf("%q", m.plan[m.other])
		if m.otherLine > 0 {
			other += fmt.Sprintf(" of line %d", m.otherLine)
		}
		expected = other + " " + expected
	}
	return fmt.Sprintf("faults: %s: expected %s, found %s", where, expected, m.found)
}

// Locate adds line and column in the plan's text to a [Misfit], and returns any other error
// unchanged. The text is empty for a generated plan.
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

// position returns the line and column, in characters from 1, of a word in a fault's line. A word
// that is not in the line has the column of the line's beginning.
func position(text string, fault int, word string) (number, column int) {
	for number, line := range faultLines(text) {
		if fault--; fault < 0 {
			first := line.words[0].column
			_, _ = line.parseFault() // the plan was parsed from it without an error
			return number, cmp.Or(line.columns[word], first)
		}
	}
	return 0, 0
}

// Check returns a [Misfit] for the first fault that can never happen in this topology: because a
// name does not exist, there are too few members, another fault acts on the same thing at that
// time, or it may outlast within, unless that is 0.
func (p Plan) Check(topology Topology, within time.Duration) error {
	for i, fault := range p {
		misfit := fault.check(topology, within)
		for j := 0; j < i && misfit == nil; j++ {
			if name, ok := conflict(p[j], fault, topology.Members); ok {
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

// conflict returns what two faults are certain to act on at the same time. When a fault that waits
// for a point begins is not known in advance.
func conflict(one, other Fault, members []string) (name string, ok bool) {
	if one.Point != "" || other.Point != "" {
		return "", false
	}
	apart := one.End() <= other.At || other.End() <= one.At
	if apart && one.At != other.At {
		return "", false
	}
	return sharedClaim(one, other, members)
}

// check checks the fault alone. It returns nil if the fault can happen.
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
		if parameter.processes == nil {
			continue
		}
		known, name := parameter.processes(topology), parameter.print(f)
		if !slices.Contains(known, name) {
			return misfit(parameter.Name, fmt.Sprintf("%s to be one of %v", parameter.Name, known), fmt.Sprintf("%q", name))
		}
	}
	if f.From != "" && f.From == f.To {
		return misfit("to", "a link between two processes", f.From+" at both ends")
	}
	if within > 0 && f.End() > within {
		return misfit(wordTime, fmt.Sprintf("it to be over within the run, which takes %v", within), fmt.Sprint(f.End()))
	}
	return nil
}

// passing returns the processes that reach a point.
func (t Topology) passing(name string) []string {
	if point, _ := lookupPoint(name); point.ofMember {
		return t.Members
	}
	return t.Servers
}
