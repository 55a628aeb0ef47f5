package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Knob is one dimension in which runs differ. A scenario fixes all except those that the user sets;
// the scenario any draws them from the seed.
//
// Each knob draws from a random stream of its own, so that a new one does not change the others.
type Knob struct {
	Name    string
	Summary string
	// Usual and Others are the values to draw from: the usual one for half of the seeds, or for
	// three quarters if the knob is Costly. A value that is listed twice is drawn twice as often.
	Usual  string
	Others []string
	// Costly says that the other values at least double the processor time of a run. As they are
	// drawn for a quarter of the seeds, they take about half of the time.
	Costly bool
	// Boots says that the knob configures etcd or API servers at boot. Runs that start
	// from a template leave such knobs at their usual values.
	Boots bool

	// other draws the value for the other half of the seeds.
	other func(*rand.Rand) string
	set   func(*Spec, string) error
	get   func(*Spec) string
}

// ErrKnob means that a knob does not exist, or a value is invalid.
var ErrKnob = errors.New("invalid knob")

// UsualValue is the text that sets any knob to its usual value.
const UsualValue = "usual"

// Knobs lists all knobs in a fixed order.
func Knobs() []Knob { return slices.Clone(knobs) }

func findKnob(name string) (Knob, bool) {
	i := slices.IndexFunc(knobs, func(k Knob) bool { return k.Name == name })
	if i < 0 {
		return Knob{}, false
	}
	return knobs[i], true
}

// Set sets a knob and keeps it from being drawn.
func (s *Spec) Set(name, value string) error {
	knob, known := findKnob(name)
	if !known {
		return fmt.Errorf("%w: expected one of the knobs that `simrun knobs` lists, found %q", ErrKnob, name)
	}
	if value == UsualValue {
		value = knob.Usual
	}
	if err := knob.set(s, value); err != nil {
		others := slices.Compact(slices.Clone(knob.Others))
		return fmt.Errorf("%w: %s: expected a value such as %s, found %q", ErrKnob, name,
			strings.Join(append([]string{cmp.Or(knob.Usual, UsualValue)}, others...), ", "), value)
	}
	s.keep(name)
	if knob.Boots && value != knob.Usual {
		s.Cold = true
		s.keep("cold")
	}
	return nil
}

// SetPlan sets the text of a plan and keeps faults from being drawn.
func (s *Spec) SetPlan(text string) {
	s.Plan = text
	s.keep("kinds")
}

// keep keeps a knob from being drawn.
func (s *Spec) keep(name string) {
	if s.Drawn() && !slices.Contains(s.Given, name) {
		s.Given = append(slices.Clone(s.Given), name)
	}
}

// Unusual returns the knobs of the spec that do not have their usual values, as name=value.
func (s Spec) Unusual() []string {
	var list []string
	for _, knob := range knobs {
		if value := knob.get(&s); value != knob.Usual {
			list = append(list, knob.Name+"="+value)
		}
	}
	return list
}

// WithUsual returns the spec with the named knobs at their usual values, and the same plan.
func (s Spec) WithUsual(names ...string) Spec {
	plan := s.Plan
	for _, name := range names {
		if knob, known := findKnob(name); known {
			_ = knob.set(&s, knob.Usual) // a knob takes its own value
		}
	}
	s.Plan = plan
	return s
}

// Drawn reports whether the seed decides the knobs of the spec's scenario.
func (s Spec) Drawn() bool {
	entry, known := find(s.Scenario)
	return known && entry.any
}

// WithSeed returns the spec for another seed: in the scenario any, with all knobs redrawn that the
// user did not set.
func (s Spec) WithSeed(seed uint64) Spec {
	s.Seed = seed
	if !s.Drawn() {
		return s
	}
	for _, knob := range knobs {
		if slices.Contains(s.Given, knob.Name) {
			continue
		}
		random, value := sim.Stream(seed, "knob "+knob.Name), knob.Usual
		if other := random.IntN(knob.oneIn()) == 1; other && (s.Cold || !knob.Boots) {
			value = knob.other(random)
		}
		if err := knob.set(&s, value); err != nil {
			panic(err) // drawn values are valid
		}
	}
	return s.reconciled()
}

// oneIn means that one seed in this many has an unusual value.
func (k Knob) oneIn() int {
	if k.Costly {
		return 4
	}
	return 2
}

// minActive is the minimum length of a run before its quiet phase.
const minActive = 20 * time.Second

// maxInitialBytes bounds the total size of the initial objects.
const maxInitialBytes = 6 << 20

// reconciled returns the spec with conflicts between knobs resolved. What the user set stays, so
// that Validate can name it.
func (s Spec) reconciled() Spec {
	drawn := func(name string) bool { return !slices.Contains(s.Given, name) }
	if drawn("duration") {
		s.Duration = max(s.Duration, s.Quiet+minActive)
	}
	if drawn("writing") {
		s.Writing = min(s.Writing, s.workload().Active())
	}
	if s.Writing > 0 && s.Flood > 0 && drawn("flood") {
		s.Flood = 0
	}
	if bytes := s.Setup.ObjectBytes; bytes > 0 && drawn("initial") {
		s.Setup.Initial = min(s.Setup.Initial, maxInitialBytes/bytes)
	}
	return s
}

// values returns a knob for a field with a list of values.
func values[T comparable](name, summary string, field func(*Spec) *T, read func(string) (T, error), usual T, others ...T) Knob {
	text := func(value T) string { return fmt.Sprint(value) }
	knob := Knob{
		Name: name, Summary: summary, Usual: text(usual),
		get: func(s *Spec) string { return text(*field(s)) },
		set: func(s *Spec, value string) error {
			read, err := read(value)
			if err == nil {
				*field(s) = read
			}
			return err
		},
	}
	for _, other := range others {
		knob.Others = append(knob.Others, text(other))
	}
	knob.other = func(random *rand.Rand) string { return knob.Others[random.IntN(len(knob.Others))] }
	return knob
}

func number(name, summary string, field func(*Spec) *int, usual int, others ...int) Knob {
	return values(name, summary, field, func(text string) (int, error) {
		value, err := strconv.Atoi(text)
		return value, cmp.Or(err, wrong(value < 0))
	}, usual, others...)
}

func duration(name, summary string, field func(*Spec) *time.Duration, usual time.Duration, others ...time.Duration) Knob {
	return values(name, summary, field, func(text string) (time.Duration, error) {
		value, err := time.ParseDuration(text)
		return value, cmp.Or(err, wrong(value < 0))
	}, usual, others...)
}

func flag(name, summary string, field func(*Spec) *bool) Knob {
	return values(name, summary, field, strconv.ParseBool, false, true)
}

// word returns a knob whose only values are "" and those listed.
func word(name, summary string, field func(*Spec) *string, others ...string) Knob {
	return values(name, summary, field, func(text string) (string, error) {
		return text, wrong(text != "" && !slices.Contains(others, text))
	}, "", others...)
}

// boots marks a knob as one that configures etcd or API servers at boot.
func boots(knob Knob) Knob {
	knob.Boots = true
	return knob
}

// costly marks a knob as one whose unusual values are drawn less often.
func costly(knob Knob) Knob {
	knob.Costly = true
	return knob
}

// wrong returns an error if a value is wrong.
func wrong(is bool) error {
	if is {
		return ErrKnob
	}
	return nil
}
