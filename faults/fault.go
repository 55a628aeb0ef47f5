package faults

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault is one line of a plan. Only the fields that its kind has parameters for
// mean anything; the others are zero. Faults compare with ==.
type Fault struct {
	// At is when the fault begins, since the start of the run.
	At time.Duration
	// Kind is the name of the fault's kind.
	Kind string

	Member string // an etcd member
	Server string // an API server
	Client string // a client that reads streams
	// From and To are the two ends of a link, by the names of their processes.
	From, To string
	// Back is how far below the current revision a compaction is.
	Back int64
	// Delay is what is added to each message or event.
	Delay time.Duration
	// Lasts is how long the fault lasts; 0 for what is over at once.
	Lasts time.Duration
}

// End is when the fault should have healed, since the start of the run.
func (f Fault) End() time.Duration { return f.At + f.Lasts }

// String is the fault as a line of a plan.
func (f Fault) String() string {
	line := fmt.Sprintf("at %v %s", f.At, f.Kind)
	if arguments := f.arguments(); arguments != "" {
		line += " " + arguments
	}
	return line
}

// arguments are the fault's parameters as a plan has them.
func (f Fault) arguments() string {
	kind, ok := Lookup(f.Kind)
	if !ok {
		return ""
	}
	var words []string
	for _, parameter := range kind.Parameters {
		words = append(words, parameter.Name+"="+parameter.get(f))
	}
	return strings.Join(words, " ")
}

// Parameter is a named value of a fault. All parameters of a kind are required.
type Parameter struct {
	Name string
	// Expects says in words what a value looks like.
	Expects string

	get func(Fault) string
	// set fails if the value is not what the parameter expects; the error says
	// no more than that.
	set func(*Fault, string) error
}

var errNotExpected = errors.New("not what the parameter expects")

// The parameters that kinds are made of.
var (
	parameterMember   = nameParameter("member", "the name of an etcd member", func(f *Fault) *string { return &f.Member })
	parameterSurvivor = nameParameter("survivor", "the name of the etcd member that stays up", func(f *Fault) *string { return &f.Member })
	parameterServer   = nameParameter("server", "the name of an API server", func(f *Fault) *string { return &f.Server })
	parameterClient   = nameParameter("client", "the name of a client that reads streams", func(f *Fault) *string { return &f.Client })
	parameterFrom     = nameParameter("from", "the name of a process", func(f *Fault) *string { return &f.From })
	parameterTo       = nameParameter("to", "the name of a process", func(f *Fault) *string { return &f.To })
	parameterDelay    = durationParameter("delay", func(f *Fault) *time.Duration { return &f.Delay })
	parameterFor      = durationParameter("for", func(f *Fault) *time.Duration { return &f.Lasts })
	parameterDown     = durationParameter("down", func(f *Fault) *time.Duration { return &f.Lasts })
	parameterRevision = Parameter{
		Name: "revision", Expects: "current, or current-N with N above 0",
		get: func(f Fault) string {
			if f.Back == 0 {
				return "current"
			}
			return fmt.Sprintf("current-%d", f.Back)
		},
		set: func(f *Fault, value string) error {
			rest, ok := strings.CutPrefix(value, "current")
			if !ok {
				return errNotExpected
			}
			if rest == "" {
				f.Back = 0
				return nil
			}
			digits, ok := strings.CutPrefix(rest, "-")
			back, err := strconv.ParseUint(digits, 10, 63)
			if !ok || err != nil || back == 0 {
				return errNotExpected
			}
			f.Back = int64(back)
			return nil
		},
	}
)

func nameParameter(name, expects string, field func(*Fault) *string) Parameter {
	return Parameter{
		Name: name, Expects: expects,
		get: func(f Fault) string { return *field(&f) },
		set: func(f *Fault, value string) error {
			if value == "" {
				return errNotExpected
			}
			*field(f) = value
			return nil
		},
	}
}

func durationParameter(name string, field func(*Fault) *time.Duration) Parameter {
	return Parameter{
		Name: name, Expects: "a duration above zero such as 1.5s",
		get: func(f Fault) string { return field(&f).String() },
		set: func(f *Fault, value string) error {
			duration, err := time.ParseDuration(value)
			if err != nil || duration <= 0 {
				return errNotExpected
			}
			*field(f) = duration
			return nil
		},
	}
}
