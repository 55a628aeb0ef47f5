package simrun

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// The exit codes of `git bisect run`, besides 0 and 1.
const (
	exitUntestable = 125 // skip this commit
	exitAbort      = 128 // stop bisecting
)

// bisectFlags are the flags of `simrun bisect`.
type bisectFlags struct {
	runFlags
	good, bad, guarantee string
}

// bisectCommand finds the release with which a guarantee breaks.
func bisectCommand() *cobra.Command {
	var flags bisectFlags
	command := &cobra.Command{
		Use:   "bisect --use MODULE --good V --bad V --seeds A-B",
		Short: "find the first release of a module that breaks a guarantee",
		Long: "bisect runs the seeds in versions between a good and a bad one, by bisection. A version is bad if a seed\n" +
			"breaks a guarantee that seeds break in the bad version and not in the good one, or --guarantee. The bad\n" +
			"version may be older: then it finds the release with the fix. Versions that cannot be built are skipped.\n\n" +
			"Without --good and --bad it tests one version or folder, as a command for `git bisect run`: it exits with\n" +
			"0 if no seed breaks anything, with 1 if one does, with 125 if it cannot be built or nothing was decided, and\n" +
			"with 128, which stops the search, if it was used wrongly.",
		Example: "  simrun bisect --use go.etcd.io/etcd/server/v3 --good v3.5.16 --bad v3.5.12 --seeds 1-20 --target etcd-3.5 --scenario tombstone\n" +
			"  simrun bisect --use go.etcd.io/etcd/server/v3=../etcd/server --seeds 1-100 --target kubernetes    # git bisect run",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.bisect(command) },
	}
	flags.register(command)
	command.Flags().StringVar(&flags.good, "good", "", "a `version` in which the seeds pass")
	command.Flags().StringVar(&flags.bad, "bad", "", "a `version` in which a seed breaks the guarantee")
	command.Flags().StringVar(&flags.guarantee, "guarantee", "", "count only what breaks the guarantee of this `name`")
	complete(command, "guarantee", guaranteeNames)
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return aborted(command.ErrOrStderr(), wrongFlag(command, err))
	})
	return command
}

// aborted prints an error that has to stop `git bisect run`.
func aborted(notes io.Writer, err error) error {
	fmt.Fprintf(notes, "simrun: %v\n", err)
	return exit(exitAbort)
}

func (f *bisectFlags) bisect(command *cobra.Command) error {
	_, _, err := f.seedRange()
	if err = cmp.Or(checkGuarantee(f.guarantee), err); err == nil {
		err = f.prepareOut()
	}
	switch {
	case err != nil:
		return aborted(command.ErrOrStderr(), err)
	case f.good == "" && f.bad == "":
		return f.testOne(command)
	}
	return f.search(command)
}

// testOne tests the code that --use names, for `git bisect run`.
func (f *bisectFlags) testOne(command *cobra.Command) error {
	notes := command.ErrOrStderr()
	if uses, err := selfbuild.ParseUses(f.use...); err != nil || len(uses) == 0 {
		return aborted(notes, fmt.Errorf("--use: expected MODULE=FOLDER, or MODULE with --good and --bad, found %q", strings.Join(f.use, ",")))
	}
	tested, err := f.runVariant(command, f.use)
	if err != nil {
		fmt.Fprintf(notes, "simrun: cannot be tested: %v\n", err)
		return exit(exitUntestable)
	}
	broken := tested.broken()
	if told := f.telling(nil, broken); len(told) > 0 {
		seeds := broken[told[0]]
		fmt.Fprintf(command.OutOrStdout(), "bad: %s is broken in %d of %d seeds: %s\n", told[0], len(seeds), len(tested.verdicts), seedList(seeds))
		return exit(exitFailed)
	}
	if tested.count(linearizability.Passed) == 0 {
		fmt.Fprintln(notes, "simrun: cannot be tested: every seed is inconclusive")
		return exit(exitUntestable)
	}
	fmt.Fprintf(command.OutOrStdout(), "good: nothing is broken in %d seeds\n", len(tested.verdicts))
	return nil
}

// search finds the release by bisection.
func (f *bisectFlags) search(command *cobra.Command) error {
	path, rest, err := f.searched()
	if err != nil {
		return err
	}
	versions, err := f.between(path)
	if err != nil {
		return err
	}
	out := command.OutOrStdout()
	fmt.Fprintf(out, "%s: %d versions from %s to %s\n", path, len(versions), versions[0], versions[len(versions)-1])
	test := func(version string) (map[string][]uint64, error) {
		tested, err := f.runVariant(command, append([]string{path + "=" + version}, rest...))
		return tested.broken(), err
	}
	good, err := test(f.good)
	if err != nil {
		return err
	}
	f.say(out, f.good, good, nil)
	bad, err := test(f.bad)
	if err != nil {
		return err
	}
	f.say(out, f.bad, bad, nil)
	told := f.telling(good, bad)
	if len(told) == 0 {
		return fmt.Errorf("expected a guarantee that the seeds break in %s and not in %s, found none; give more seeds", f.bad, f.good)
	}
	from, to, err := halve(versions, func(version string) (bool, bool, error) {
		broken, err := test(version)
		if _, is := errors.AsType[*unbuildable](err); is {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(out, "%s: left out: %s\n", version, reason)
			return false, false, nil
		}
		if err == nil {
			f.say(out, version, broken, told)
		}
		return anyBroken(broken, told), true, err
	}, versions[0] == f.bad)
	if err != nil {
		return err
	}
	last, first, left := versions[from], versions[to], strings.Join(versions[from+1:to], ", ")
	verb := "breaks"
	if versions[0] == f.bad {
		verb = "mends"
	}
	names := strings.Join(told, ", ")
	if left != "" {
		fmt.Fprintf(out, "%s %s or one of those left out before it (%s) %s what %s did not: %s\n", path, first, left, verb, last, names)
	} else {
		fmt.Fprintf(out, "%s %s %s %s; the release before it that could be had is %s\n", path, first, verb, names, last)
	}
	return nil
}

// searched returns the module of --use that has no version, and the other modules.
func (f *bisectFlags) searched() (path string, rest []string, err error) {
	for _, text := range f.use {
		switch {
		case strings.Contains(text, "="):
			rest = append(rest, text)
		case path != "":
			return "", nil, fmt.Errorf("--use: expected one module without a version, found %s and %s", path, text)
		default:
			path = text
		}
	}
	if path == "" || f.good == "" || f.bad == "" {
		return "", nil, fmt.Errorf("expected --use with a module and no version, --good and --bad, found --use %q, --good %q and --bad %q",
			strings.Join(f.use, ","), f.good, f.bad)
	}
	return path, rest, nil
}

// between returns the versions from the older to the newer one. Pre-releases count only if one of
// the two is a pre-release.
func (f *bisectFlags) between(path string) ([]string, error) {
	if f.good == f.bad {
		return nil, fmt.Errorf("expected two versions, found %s as --good and as --bad", f.good)
	}
	all, err := selfbuild.Versions(path)
	if err != nil {
		return nil, err
	}
	for _, version := range []string{f.good, f.bad} {
		if !slices.Contains(all, version) {
			return nil, fmt.Errorf("expected a version of %s, found %q; `go list -m -versions %s` lists them", path, version, path)
		}
	}
	older, newer := f.good, f.bad
	if semver.Compare(older, newer) > 0 {
		older, newer = newer, older
	}
	releasesOnly := semver.Prerelease(older) == "" && semver.Prerelease(newer) == ""
	return slices.DeleteFunc(all, func(version string) bool {
		return semver.Compare(version, older) < 0 || semver.Compare(version, newer) > 0 || releasesOnly && semver.Prerelease(version) != ""
	}), nil
}

// telling returns the guarantees that distinguish a bad version from a good one, sorted.
func (f *bisectFlags) telling(good, bad map[string][]uint64) (names []string) {
	for _, guarantee := range slices.Sorted(maps.Keys(bad)) {
		if len(good[guarantee]) == 0 && (f.guarantee == "" || f.guarantee == guarantee) {
			names = append(names, guarantee)
		}
	}
	return names
}

func anyBroken(broken map[string][]uint64, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return len(broken[name]) > 0 })
}

// say prints the result of a version. told is nil until it is known which guarantees count.
func (f *bisectFlags) say(out io.Writer, version string, broken map[string][]uint64, told []string) {
	var words []string
	for _, guarantee := range slices.Sorted(maps.Keys(broken)) {
		words = append(words, fmt.Sprintf("%s in %d (%s)", guarantee, len(broken[guarantee]), seedList(broken[guarantee])))
	}
	text := "no seed breaks anything"
	if len(words) > 0 {
		text = "seeds break " + strings.Join(words, ", ")
	}
	verdict := ""
	if told != nil {
		verdict = "good: "
		if anyBroken(broken, told) {
			verdict = "bad: "
		}
	}
	fmt.Fprintf(out, "%s: %s%s\n", version, verdict, text)
}

// halve finds the place in a list at which a test turns, between its first entry, which is bad or
// not as firstIsBad says, and its last, which is the opposite. It returns the last tested entry
// that is like the first, and the first tested one that is not; entries between them could not be
// tested.
func halve(list []string, test func(string) (bad, tested bool, err error), firstIsBad bool) (from, to int, err error) {
	from, to = 0, len(list)-1
	var left []int // between the two, and not known to be untestable
	for i := 1; i < to; i++ {
		left = append(left, i)
	}
	for len(left) > 0 {
		middle := len(left) / 2
		next := left[middle]
		bad, tested, err := test(list[next])
		switch {
		case err != nil:
			return 0, 0, err
		case !tested:
			left = slices.Delete(left, middle, middle+1)
		case bad == firstIsBad:
			from, left = next, left[middle+1:]
		default:
			to, left = next, left[:middle]
		}
	}
	return from, to, nil
}
