package faults

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// planHeaderPrefix begins the first line of a printed plan.
const (
	planHeaderPrefix = "# watchsim plan "
	planVersion      = "v1"
)

// Plan is the list of faults of a run, in any order. Faults with the same time begin in the order
// of the plan.
type Plan []Fault

// String returns the plan as text that [Parse] reads back:
//
//	# watchsim plan v1
//	at 12.5s etcd-crash member=etcd-0 down=2s
//	at 20s compaction revision=current
//	at 31s partition from=apiserver-0 to=etcd-0 for=4s
//	between 35s and 40s on list 1 of apiserver-0 compaction revision=deletion
func (p Plan) String() string {
	var text strings.Builder
	text.WriteString(planHeaderPrefix + planVersion + "\n")
	for _, fault := range p {
		text.WriteString(fault.String() + "\n")
	}
	return text.String()
}

// Parse reads a plan, one fault a line. Empty lines and comments, which run from # to the
// end of a line, are ignored, and so is a missing header.
//
//	at DURATION KIND NAME=VALUE...
//	between DURATION and DURATION on POINT NUMBER of PROCESS KIND NAME=VALUE...
//
// An error names the line and the column, what was expected there, and what was found. [Plan.Check]
// checks whether a cluster has what the lines name, and whether they contradict each other.
func Parse(text string) (Plan, error) {
	if version, ok := strings.CutPrefix(text, planHeaderPrefix); ok {
		version, _, _ = strings.Cut(version, "\n")
		if version = strings.TrimSpace(version); version != planVersion {
			return nil, fmt.Errorf("faults: line 1, column %d: expected a plan of version %s, found %q",
				len(planHeaderPrefix)+1, planVersion, version)
		}
	}
	var plan Plan
	for number, line := range faultLines(text) {
		fault, err := line.parseFault()
		if err != nil {
			return nil, fmt.Errorf("faults: line %d, column %d: %w", number, line.column, err)
		}
		plan = append(plan, fault)
	}
	return plan, nil
}

// faultLines yields the lines of a plan that contain a fault, with their numbers from 1.
func faultLines(text string) iter.Seq2[int, *line] {
	return func(yield func(int, *line) bool) {
		number := 0
		for text := range strings.Lines(text) {
			number++
			if line := splitLine(text); len(line.words) > 0 && !yield(number, line) {
				return
			}
		}
	}
}

// line is a line of a plan, read word by word.
type line struct {
	words []word // not read yet
	end   int    // the column where the line ends
	// column is where the last word read begins, or where the line ends.
	column int
	// columns has the columns of words that [Plan.Check] may reject: parameters by name, and kind,
	// process and time.
	columns map[string]int
}

// word is a word of a line and its column, counted in characters from 1.
type word struct {
	text   string
	column int
}

var wordPattern = regexp.MustCompile(`[^\s\v\x{85}\p{Z}]+`)

func splitLine(text string) *line {
	text, _, _ = strings.Cut(text, "#")
	l := &line{end: 1, columns: map[string]int{}}
	for _, at := range wordPattern.FindAllStringIndex(text, -1) {
		l.words = append(l.words, word{text[at[0]:at[1]], 1 + utf8.RuneCountInString(text[:at[0]])})
		l.end = 1 + utf8.RuneCountInString(text[:at[1]])
	}
	return l
}

// next returns the next word, "" at the end.
func (l *line) next() string {
	if len(l.words) == 0 {
		l.column = l.end
		return ""
	}
	next := l.words[0]
	l.words, l.column = l.words[1:], next.column
	return next.text
}

// keyword reads a required word.
func (l *line) keyword(expected string) error {
	if found := l.next(); found != expected {
		return fmt.Errorf("expected %s, found %q", expected, found)
	}
	return nil
}

func (l *line) parseFault() (fault Fault, err error) {
	if err := l.parseWhen(&fault); err != nil {
		return fault, err
	}
	name := l.next()
	kind, ok := Lookup(name)
	if !ok {
		return fault, fmt.Errorf("expected one of the kinds %s, found %q", kindNames(), name)
	}
	fault.Kind, l.columns[wordKind] = kind.Name, l.column
	return fault, l.parseArguments(kind, &fault)
}

// parseWhen reads when a fault begins.
func (l *line) parseWhen(fault *Fault) (err error) {
	first := l.next()
	if first != "at" && first != "between" {
		return fmt.Errorf("expected a line to begin with at or between, found %q", first)
	}
	if fault.At, err = l.parseTime(first); err != nil || first == "at" {
		return err
	}
	if err := l.keyword("and"); err != nil {
		return err
	}
	if fault.Until, err = l.parseTime("and"); err != nil {
		return err
	}
	if fault.Until <= fault.At {
		return fmt.Errorf("expected a time after %v, found %v", fault.At, fault.Until)
	}
	if err := l.keyword("on"); err != nil {
		return err
	}
	fault.Point = l.next()
	if _, ok := lookupPoint(fault.Point); !ok {
		return fmt.Errorf("expected one of the points %s, found %q", pointNames(), fault.Point)
	}
	number := l.next()
	if fault.Number, err = strconv.Atoi(number); err != nil || fault.Number < 1 {
		return fmt.Errorf("expected which %s it is, as a number above zero, found %q", fault.Point, number)
	}
	if err := l.keyword("of"); err != nil {
		return err
	}
	if fault.Process = l.next(); fault.Process == "" {
		return fmt.Errorf(`expected the name of an API server or an etcd member, found ""`)
	}
	l.columns[wordProcess] = l.column
	return nil
}

func (l *line) parseTime(after string) (time.Duration, error) {
	text := l.next()
	at, err := time.ParseDuration(text)
	if err != nil || at < 0 {
		return 0, fmt.Errorf("expected a time since the start such as 12.5s after %s, found %q", after, text)
	}
	l.columns[wordTime] = l.column
	return at, nil
}

// parseArguments reads the parameters of a kind, each of them once.
func (l *line) parseArguments(kind Kind, fault *Fault) error {
	given := map[string]bool{}
	for len(l.words) > 0 {
		argument := l.next()
		name, value, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("expected name=value after %s, found %q", kind.Name, argument)
		}
		if given[name] {
			return fmt.Errorf("expected %s once, found it twice", name)
		}
		at := slices.IndexFunc(kind.Parameters, func(p Parameter) bool { return p.Name == name })
		if at < 0 {
			return fmt.Errorf("expected %s of %s, found %q", kind.parameterNames(), kind.Name, name)
		}
		if parameter := kind.Parameters[at]; !parameter.parse(fault, value) {
			return fmt.Errorf("expected %s after %s=, found %q", parameter.Expects, name, value)
		}
		given[name], l.columns[name] = true, l.column
	}
	for _, parameter := range kind.Parameters {
		if !given[parameter.Name] {
			l.next() // the error is about the end of the line
			return fmt.Errorf("expected %s= with %s, found none for %s", parameter.Name, parameter.Expects, kind.Name)
		}
	}
	return nil
}

func (k Kind) parameterNames() string {
	if len(k.Parameters) == 0 {
		return "no parameters"
	}
	return "the parameters " + listed(k.Parameters, func(p Parameter) string { return p.Name })
}

// listed returns the names of values, separated by commas.
func listed[T any](values []T, name func(T) string) string {
	var names []string
	for _, value := range values {
		names = append(names, name(value))
	}
	return strings.Join(names, ", ")
}
