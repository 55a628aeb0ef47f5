package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// fitting returns the mutants whose edits apply to the code that is built. It checks that before anything is built, as moved code is
// the likeliest mistake: an edit that does not apply to the code of go.mod is an error; with --use, the mutant is skipped, and reported unless only fixes are to be.
func (o options) fitting(all []mutant.Mutant, stdout io.Writer, fixesAlone bool) ([]mutant.Mutant, error) {
	source, err := selfbuild.Source()
	if err != nil {
		return nil, err
	}
	if t := o.testedTarget(); t != nil {
		source = filepath.Join(source, t.Tests.Module)
	}
	modules, err := selfbuild.Modules(source, o.use)
	if err != nil {
		return nil, err
	}
	var unfit error
	fit := slices.DeleteFunc(slices.Clone(all), func(m mutant.Mutant) bool {
		err := mutant.Check(modules, m)
		if err == nil {
			return false
		}
		unfit = errors.Join(unfit, err)
		if len(o.use) > 0 && (!fixesAlone || mutant.IsFix(m.Name)) {
			fmt.Fprintf(stdout, "%s is left out: %v\n", m.Name, err)
		}
		return true
	})
	if unfit != nil && (len(o.use) == 0 || len(fit) == 0) {
		return nil, unfit
	}
	return fit, nil
}
