package simrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/campaign"
	"github.com/watchsim/watchsim/search/swarm"
)

// campaignFlags are the flags of `simrun campaign`.
type campaignFlags struct {
	runFlags
	shard        string
	shards, keep int
}

// campaignCommand runs one shard of a range. It is not a flag of the root command, because it
// resumes from kept results and keeps few artifacts, where the root starts over and keeps all.
func campaignCommand() *cobra.Command {
	var flags campaignFlags
	command := &cobra.Command{
		Use:   "campaign --seeds A-B [--shard I/N]",
		Short: "run one shard of a range of seeds, and resume it after a kill",
		Long: "campaign runs every N-th seed of the range, beginning with the I-th, and appends a line to a file of\n" +
			"results in --out for each. Started again with the same flags, it resumes.\n" +
			"Processes share nothing; `simrun merge` puts their files together. In a pod of a Kubernetes Indexed\n" +
			"Job, give --shards N: which shard it is comes from the variable " + campaign.CompletionIndexVariable + ".\n\n" +
			"Failures that look alike are one signature; the artifacts of the lowest --keep seeds of each stay.\n\n" +
			"It exits with 1 if a seed of the shard failed, with 3 if one is inconclusive, and with 3 if it was\n" +
			"interrupted before the shard was complete, whatever has failed until then.",
		Example: "  simrun campaign --seeds 1-1000000 --shard 3/16\n" +
			"  simrun campaign --seeds 1-1000000 --shards 16    # in a pod of an Indexed Job",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.register(command)
	command.Flags().StringVar(&flags.shard, "shard", "", "which `shard` of how many, counting from 1, such as 3/16 (default: all seeds)")
	command.Flags().IntVar(&flags.shards, "shards", 0, "number of shards; which one comes from "+campaign.CompletionIndexVariable)
	command.Flags().IntVar(&flags.keep, "keep", 3, "keep the artifacts of at most this many failures of a signature")
	command.Flags().Lookup("out").Usage = "`folder` for results, and for the artifacts of failures"
	if err := command.Flags().MarkHidden("keep-all"); err != nil {
		panic(err) // the flag's name is wrong
	}
	return command
}

func (f *campaignFlags) run(command *cobra.Command) error {
	shard, err := f.chosenShard()
	if err != nil {
		return err
	}
	config, err := f.config(command.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := f.prepareOut(); err != nil {
		return err
	}
	build, err := campaign.Fingerprint(config.Binary)
	if err != nil {
		return err
	}
	header := campaign.NewHeader(config.Spec, config.First, config.Last, shard, build, runtime.Version(), f.command(config.Spec))
	s := &shardRun{
		flags: f, out: command.OutOrStdout(), notes: command.ErrOrStderr(), people: f.people(command), header: header,
		summary: campaign.NewSummary(header), keeper: campaign.NewKeeper(f.out, config.Spec, f.keep),
	}
	config.KeepAll = false
	config.Out, config.Resumes = campaign.ArtifactsFolder(f.out), true
	return s.run(command.Context(), config)
}

// chosenShard checks the flags that only campaigns have.
func (f *campaignFlags) chosenShard() (campaign.Shard, error) {
	switch {
	case f.keepAll:
		return campaign.Shard{}, errors.New("--keep-all: expected --keep with a number of failures, found a flag that campaigns do not have")
	case f.keep < 0:
		return campaign.Shard{}, fmt.Errorf("--keep: expected 0 failures of a signature or more, found %d", f.keep)
	}
	return campaign.ChooseShard(f.shard, f.shards, os.Getenv(campaign.CompletionIndexVariable))
}

// command is the command line that runs a seed of the campaign again.
func (f *campaignFlags) command(spec scenario.Spec) string {
	line := f.reproduce(scenario.Verdict{Seed: spec.Seed, Target: spec.Target, Scenario: spec.Scenario, Mutant: spec.Mutant, Use: spec.Use})
	return strings.Replace(line, fmt.Sprintf("--seed %d", spec.Seed), "--seed "+campaign.SeedPlaceholder, 1)
}

// shardRun is one process's part of a campaign.
type shardRun struct {
	flags              *campaignFlags
	out, notes, people io.Writer
	header             campaign.Header
	summary            *campaign.Summary
	keeper             *campaign.Keeper
	file               *campaign.File
	resumed            uint64
	progress           *statusLine
	problem            error
}

// run runs the seeds that the shard still lacks.
func (s *shardRun) run(ctx context.Context, config swarm.Config) (err error) {
	done := map[uint64]bool{}
	s.file, err = campaign.Open(s.flags.out, s.header, func(result campaign.Result) {
		done[result.Seed] = true
		s.take(result)
	})
	if err != nil {
		return err
	}
	s.resumed = s.summary.Done
	config.Skip = func(seed uint64) bool { return done[seed] || !s.header.Owns(seed) }
	s.banner(config)

	s.progress = newStatusLine(s.notes)
	if s.problem == nil && !s.summary.Complete() {
		_ = swarm.Run(ctx, config, s.add)
	}
	if err := errors.Join(s.problem, s.file.Close()); err != nil {
		return err
	}
	return s.finish(ctx.Err() != nil)
}

func (s *shardRun) banner(config swarm.Config) {
	s.flags.banner(s.notes, config)
	fmt.Fprintf(s.notes, "  shard       %s, %s, %d of them done already\n", s.header.Shard, model.Plural(int(s.header.Seeds()), "seed"), s.resumed)
	fmt.Fprintf(s.notes, "  results     %s/%s, build %s\n", s.flags.out, s.header.FileName(), s.header.Build)
	fmt.Fprintf(s.notes, "  keeps       for each signature, the artifacts of at most %s, the lowest\n", model.Plural(s.flags.keep, "seed"))
}

// take counts a result, and deletes artifacts beyond those to keep.
func (s *shardRun) take(result campaign.Result) (first bool) {
	if err := s.keeper.Add(result); err != nil && s.problem == nil {
		s.problem = err
	}
	return s.summary.Add(result, s.flags.out)
}

// add takes an outcome of this process. After a problem it takes no more: the file may end in half
// a line.
func (s *shardRun) add(outcome swarm.Outcome) error {
	s.progress.clear()
	result := campaign.Result{Verdict: outcome.Verdict}
	for _, note := range outcome.Notes {
		fmt.Fprintf(s.notes, "simrun: %s\n", note)
	}
	switch {
	case errors.Is(outcome.Err, swarm.ErrOutside):
		fmt.Fprintf(s.notes, "simrun: %v; the same command tries it once more\n", outcome.Err)
	case errors.Is(outcome.Err, swarm.ErrNotDeterministic):
		result.NotDeterministic = outcome.Err.Error()
		fmt.Fprintln(s.out, outcome.Err)
	case outcome.Err != nil && s.problem == nil:
		s.problem = outcome.Err
	}
	if result.Outcome == "" || s.problem != nil {
		return s.problem
	}
	if s.problem = s.file.Append(result); s.problem != nil {
		return s.problem
	}
	if s.flags.json {
		_ = json.NewEncoder(s.out).Encode(result)
	}
	if s.take(result) {
		fmt.Fprintf(s.people, "\n%s", paint(s.out, outcome.Report))
		fmt.Fprintf(s.people, "  the first of its signature; reproduce with: %s\n", s.header.Reproduce(result.Seed))
	}
	s.progress.say("%d of %d seeds, %d failed, %s", s.summary.Done, s.summary.Seeds, s.summary.Failed, s.pace())
	return s.problem
}

// pace is the speed of this process.
func (s *shardRun) pace() string {
	return fmt.Sprintf("%.1f seeds/s", float64(s.summary.Done-s.resumed)/time.Since(s.progress.began).Seconds())
}

// finish prints the shard's result and turns it into an exit code.
func (s *shardRun) finish(interrupted bool) error {
	s.progress.clear()
	fmt.Fprintf(s.people, "\nshard %s: %s", s.header.Shard, s.summary.Report())
	fmt.Fprintf(s.notes, "%d seeds in %.1f s (%s)\n", s.summary.Done-s.resumed, time.Since(s.progress.began).Seconds(), s.pace())
	if interrupted && !s.summary.Complete() {
		// Whatever has failed, the shard must be resumed.
		fmt.Fprintln(s.notes, "interrupted: the same command goes on with the seeds that are missing")
		return exit(exitInconclusive)
	}
	return summaryExit(s.summary)
}

// summaryExit is the exit code for the results so far.
func summaryExit(summary *campaign.Summary) error {
	return seedsExit(summary.Failed > 0, summary.NotDeterministic > 0, summary.Inconclusive > 0 || !summary.Complete())
}

// mergeCommand merges the results of shards.
func mergeCommand() *cobra.Command {
	var asJSON bool
	var write string
	command := &cobra.Command{
		Use:   "merge RESULTS...",
		Short: "merge the results of a campaign's shards",
		Long: "merge reads the results of the shards of one campaign, in files or folders, and prints what is\n" +
			"missing, how many seeds passed, and the failures by signature with the lowest seeds of each and the\n" +
			"command that shows it. It also works while shards are running.\n\n" +
			"It exits with 1 if a seed failed, with 2 if the files do not belong together, and with 3 if results\n" +
			"are missing or inconclusive.",
		Example: "  simrun merge out\n  simrun merge --json -o merged.jsonl out",
		Args:    some("expected the results of shards, found none; try `simrun merge out`"),
		RunE: func(command *cobra.Command, paths []string) error {
			merged, err := campaign.Merge(paths)
			if err != nil {
				return err
			}
			if write != "" {
				if err := writeMerged(write, merged); err != nil {
					return err
				}
			}
			if asJSON {
				encoder := json.NewEncoder(command.OutOrStdout())
				encoder.SetEscapeHTML(false)
				err = encoder.Encode(merged.Summary)
			} else {
				_, err = fmt.Fprintf(command.OutOrStdout(), "watchsim  target %s  scenario %s  seeds %d to %d  build %s\n%s",
					merged.Spec.Target, merged.Spec.Scenario, merged.First, merged.Last, merged.Build, merged.Report())
			}
			if err != nil {
				return err
			}
			return summaryExit(merged.Summary)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output")
	command.Flags().StringVarP(&write, "out", "o", "", "also write all results to this `file`, which may not exist, as those of a campaign of one shard")
	return command
}

// writeMerged never overwrites a file, as it may be one of the inputs.
func writeMerged(path string, merged *campaign.Merged) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := errors.Join(merged.WriteResults(file), file.Close()); err != nil {
		return fmt.Errorf("--out %s: %w", path, err)
	}
	return nil
}
