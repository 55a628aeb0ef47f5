package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/watchsim/watchsim/cluster/released"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// checkTarget reports a name that neither this binary nor a worker of a released
// version can run.
func checkTarget(name string) error {
	if _, known := released.Find(name); known {
		return nil
	}
	_, err := findTarget(name)
	return err
}

// binaryFor is the program that workers of a target are started from: this one, or
// one with a released version or a known bug inside, which is built first.
func binaryFor(target, mutantName string) (string, error) {
	var mutants []mutant.Mutant
	if mutantName != "" {
		m, err := mutant.Find(mutantName)
		if err != nil {
			return "", err
		}
		mutants = append(mutants, m)
	}
	if release, known := released.Find(target); known {
		fmt.Fprintf(os.Stderr, "simrun: building %s, which takes minutes the first time\n", release.Summary)
		return selfbuild.BuildReleased(release, mutants...)
	}
	if mutants == nil {
		return os.Executable()
	}
	return selfbuild.Build(mutants...)
}

// targetNames are all that --target takes.
func targetNames() string {
	var names []string
	for _, t := range targets {
		names = append(names, t.name)
	}
	for _, r := range released.All() {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}
