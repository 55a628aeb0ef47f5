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
//
// A fault begins at a time; or, if Point is set, when the program gets to that
// point, within a span of time.
type Fault struct {
	// At is when the fault begins, or from when on it waits for its point, since
	// the start of the run.
	At time.Duration
	// Kind is the name of the fault's kind.
	Kind string

	// Point is what the fault waits for, "" for nothing: that Process, an API
	// server or an etcd member, gets there for the Number-th time after At, and before Until.
	Point   string
	Process string
	Number  int
	Until   time.Duration

	Member string // an etcd member
	Server string // an API server
	Client string // a client that reads streams
	Host   string // an etcd member or an API server, by its machine
	// From and To are the two ends of a link, by the names of their processes.
	From, To string
	// Back is how far below the current revision a compaction is, or one of
	// OldestKept and LastDeletion.
	Back int64
	// Delay is what is added to each message or event.
	Delay time.Duration
	// Rate is how much passes a slow link, in bytes per second.
	Rate int64
	// Period is how much history etcd's own compactor keeps.
	Period time.Duration
	// TTL is for how long an object that expires is there, in whole seconds.
	TTL time.Duration
	// Keep is what a failing disk keeps of what was not synced.
	Keep Keep
	// Bump is by how much the revision is raised that a member has after a restore.
	Bump int64
	// Jump is by how much a wall clock is moved, either way.
	Jump time.Duration
	// Lasts is how long the fault lasts; 0 for what is over at once.
	Lasts time.Duration
}

// Values of Fault.Back that mean no distance.
const (
	// OldestKept is the oldest revision that a compaction can still discard.
	OldestKept int64 = -1
	// LastDeletion is the newest revision that deletes an object.
	LastDeletion int64 = -2
)

// End is when the fault should have healed at the latest, since the start of the
// run.
func (f Fault) End() time.Duration { return max(f.At, f.Until) + f.Lasts }

// String is the fault as a line of a plan.
func (f Fault) String() string {
	line := f.when() + " " + f.Kind
	if arguments := f.arguments(); arguments != "" {
		line += " " + arguments
	}
	return line
}

// when says when the fault begins, as a plan has it.
func (f Fault) when() string {
	if f.Point == "" {
		return fmt.Sprintf("at %v", f.At)
	}
	return fmt.Sprintf("between %v and %v on %s", f.At, f.Until, f.arrival())
}

// arrival is what a fault with a point waits for.
func (f Fault) arrival() string { return fmt.Sprintf("%s %d of %s", f.Point, f.Number, f.Process) }

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
	parameterProcess  = nameParameter("process", "the name of an etcd member or an API server", func(f *Fault) *string { return &f.Host })
	parameterFrom     = nameParameter("from", "the name of a process", func(f *Fault) *string { return &f.From })
	parameterTo       = nameParameter("to", "the name of a process", func(f *Fault) *string { return &f.To })
	parameterDelay    = durationParameter("delay", func(f *Fault) *time.Duration { return &f.Delay })
	parameterFor      = durationParameter("for", func(f *Fault) *time.Duration { return &f.Lasts })
	parameterDown     = durationParameter("down", func(f *Fault) *time.Duration { return &f.Lasts })
	parameterPeriod   = durationParameter("period", func(f *Fault) *time.Duration { return &f.Period })
	parameterRate     = Parameter{
		Name: "rate", Expects: "a number of bytes per second above zero",
		get: func(f Fault) string { return strconv.FormatInt(f.Rate, 10) },
		set: func(f *Fault, value string) error {
			rate, err := strconv.ParseUint(value, 10, 63)
			if err != nil || rate == 0 {
				return errNotExpected
			}
			f.Rate = int64(rate)
			return nil
		},
	}
	parameterKeep = Parameter{
		Name: "keep", Expects: "nothing or some",
		get: func(f Fault) string { return string(f.Keep) },
		set: func(f *Fault, value string) error {
			if f.Keep = Keep(value); f.Keep != KeepNothing && f.Keep != KeepSome {
				return errNotExpected
			}
			return nil
		},
	}
	parameterBump = Parameter{
		Name: "bump", Expects: "a number of revisions, 0 for none",
		get: func(f Fault) string { return strconv.FormatInt(f.Bump, 10) },
		set: func(f *Fault, value string) error {
			bump, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return errNotExpected
			}
			f.Bump = int64(bump)
			return nil
		},
	}
	parameterJump = Parameter{
		Name: "by", Expects: "a duration other than zero such as 1h or -30s",
		get: func(f Fault) string { return f.Jump.String() },
		set: func(f *Fault, value string) error {
			jump, err := time.ParseDuration(value)
			if err != nil || jump == 0 {
				return errNotExpected
			}
			f.Jump = jump
			return nil
		},
	}
	parameterTTL = Parameter{
		Name: "ttl", Expects: "a duration of whole seconds such as 3s",
		get: func(f Fault) string { return f.TTL.String() },
		set: func(f *Fault, value string) error {
			ttl, err := time.ParseDuration(value)
			if err != nil || ttl <= 0 || ttl%time.Second != 0 {
				return errNotExpected
			}
			f.TTL = ttl
			return nil
		},
	}
	parameterRevision = Parameter{
		Name: "revision", Expects: "current, current-N with N above 0, oldest, or deletion",
		get: func(f Fault) string {
			switch {
			case f.Back == OldestKept:
				return "oldest"
			case f.Back == LastDeletion:
				return "deletion"
			case f.Back == 0:
				return "current"
			}
			return fmt.Sprintf("current-%d", f.Back)
		},
		set: func(f *Fault, value string) error {
			switch value {
			case "oldest":
				f.Back = OldestKept
				return nil
			case "deletion":
				f.Back = LastDeletion
				return nil
			case "current":
				f.Back = 0
				return nil
			}
			digits, ok := strings.CutPrefix(value, "current-")
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
