package simrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// named is a name that a flag accepts.
type named struct{ name, summary string }

// namesOf returns the names of the elements of a list.
func namesOf[T any](list []T, name func(T) named) (names []named) {
	for _, element := range list {
		names = append(names, name(element))
	}
	return names
}

func scenarioNames() []named {
	return namesOf(scenario.Catalogue(), func(entry scenario.Entry) named { return named{entry.Name, entry.Summary} })
}

func targetNames() []named {
	return append(namesOf(targets, func(t Target) named { return named{t.Name, t.Summary} }),
		namesOf(target.Releases(), func(r target.Release) named { return named{r.Name, r.Summary + " (built on first use)"} })...)
}

// allTargetNames adds the targets whose scenarios are tests.
func allTargetNames() []named {
	return append(targetNames(), namesOf(testedTargets, func(t selfbuild.Tested) named { return named{t.Name, t.Summary} })...)
}

func knobNames() []named {
	return namesOf(scenario.Knobs(), func(knob scenario.Knob) named { return named{knob.Name, knob.Summary} })
}

func mutantNames() []named {
	return namesOf(mutant.Everything(), func(m mutant.Mutant) named { return named{m.Name, m.Summary} })
}

func kindNames() []named {
	return namesOf(faults.Kinds(), func(kind faults.Kind) named { return named{kind.Name, kind.Doc} })
}

func faultNames() []named {
	return append([]named{{"all", "any kind, as the seed says"}, {"every", "each kind at least once"}, {"none", "no faults"}}, kindNames()...)
}

// complete registers shell completion for the values of a flag.
func complete(command *cobra.Command, flag string, names func() []named) {
	if err := command.RegisterFlagCompletionFunc(flag, completing(names)); err != nil {
		panic(err) // the flag's name is wrong
	}
}

// completing returns a function that completes to one of the names.
func completing(names func() []named) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (choices []string, _ cobra.ShellCompDirective) {
		for _, n := range names() {
			choices = append(choices, cobra.CompletionWithDesc(n.name, n.summary))
		}
		return choices, cobra.ShellCompDirectiveNoFileComp
	}
}

// maxListed is the largest number of names in an error.
const maxListed = 24

// checkName reports an unknown name, with the nearest known one.
func checkName(what, name string, names []named) error {
	var list []string
	for _, n := range names {
		if n.name == name {
			return nil
		}
		list = append(list, n.name)
	}
	if near := nearest(name, list); near != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", what, name, near)
	}
	if len(list) > maxListed {
		return fmt.Errorf("unknown %s %q: `simrun %ss` lists them", what, name, what)
	}
	return fmt.Errorf("unknown %s %q: expected one of %s", what, name, strings.Join(list, ", "))
}

// nearest returns the name that the user may have meant, "" for none.
func nearest(wrote string, names []string) (near string) {
	least := max(len(wrote)/3, 1) + 1
	for _, name := range names {
		if d := distance(strings.ToLower(wrote), strings.ToLower(name)); d < least {
			least, near = d, name
		}
	}
	return near
}

// distance is the number of bytes to add, remove, replace or swap with the next to turn one word
// into the other.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := range b {
			if i == 0 {
				rows[0][j+1] = j + 1
				continue
			}
			different := 1
			if a[i-1] == b[j] {
				different = 0
			}
			d := min(rows[i-1][j+1]+1, rows[i][j]+1, rows[i-1][j]+different)
			if i > 1 && j > 0 && a[i-1] == b[j-1] && a[i-2] == b[j] {
				d = min(d, rows[i-2][j-1]+1)
			}
			rows[i][j+1] = d
		}
	}
	return rows[len(a)][len(b)]
}

// expecting returns a check of the number of a command's arguments.
func expecting(number int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) != number {
			return fmt.Errorf("expected %s, found %s", what, model.Plural(len(arguments), "argument"))
		}
		return nil
	}
}

// some returns a check of the arguments of a command that takes one or more; missing is the error for none.
func some(missing string) cobra.PositionalArgs {
	return func(_ *cobra.Command, arguments []string) error {
		if len(arguments) == 0 {
			return errors.New(missing)
		}
		return nil
	}
}

// noSuchCommand reports an argument of the root command, which takes none.
func noSuchCommand(root *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return nil
	}
	var list []named
	for _, command := range root.Commands() {
		if !command.Hidden {
			list = append(list, named{name: command.Name()})
		}
	}
	slices.SortFunc(list, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return checkName("command", arguments[0], list)
}

// checkGuarantee checks the value of --guarantee, if there is one.
func checkGuarantee(name string) error {
	if name == "" {
		return nil
	}
	if err := checkName("guarantee", name, guaranteeNames()); err != nil {
		return fmt.Errorf("--guarantee: %w", err)
	}
	return nil
}

// guaranteeNames are the oracle's guarantees, and the one that a run ends.
func guaranteeNames() (list []named) {
	for _, g := range linearizability.Guarantees {
		if !g.Observed() {
			list = append(list, named{g.Name, g.Error()})
		}
	}
	return append(list, named{scenario.Completed, "the run comes to its end"})
}
