// Command dryrun does with processes what Kubernetes does with the pods of an
// Indexed Job: it reads the manifest, starts the container's command for each
// index with JOB_COMPLETION_INDEX set and a folder in place of the volume, as
// many at a time as the manifest says, restarts what ended early under the
// manifest's rules, and merges the results.
//
//	go run ./deploy/dryrun -completions 4 -- --seeds=1-200
//
// What follows -- is appended to the container's arguments. It exits as
// `simrun merge` does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// exitUsage is simrun's exit code for what could not be done.
const exitUsage = 2

// run is the whole command. It returns the exit code.
func run(arguments []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := dryRun(ctx, arguments, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "dryrun: %v\n", err)
		return exitUsage
	}
	return code
}

func dryRun(ctx context.Context, arguments []string, stdout, stderr io.Writer) (code int, err error) {
	flags := flag.NewFlagSet("dryrun", flag.ContinueOnError)
	flags.SetOutput(stderr)
	manifest := flags.String("manifest", "deploy/indexed-job.yaml", "the Job to run")
	simrun := flags.String("simrun", "bin/simrun", "what takes the place of the container's command")
	results := flags.String("results", "out/dry-run", "the folder that takes the place of the volume")
	completions := flags.Int("completions", 0, "number of pods instead of the manifest's")
	parallelism := flags.Int("parallelism", 0, "number of pods at one time instead of the manifest's")
	kill := flags.Int("kill", -1, "kill this pod as soon as it has results, once")
	if err := flags.Parse(arguments); err != nil {
		return 0, err
	}
	job, err := readJob(*manifest)
	if err != nil {
		return 0, err
	}
	if *completions > 0 {
		job.setCompletions(*completions)
	}
	if *parallelism > 0 {
		job.parallelism = *parallelism
	}
	job.arguments = append(job.arguments, flags.Args()...)
	if err := os.MkdirAll(*results, 0o755); err != nil {
		return 0, err
	}
	runner := &runner{job: job, binary: *simrun, results: *results, kill: *kill, out: stdout}
	if err := runner.run(ctx); err != nil {
		return 0, err
	}
	merge := exec.CommandContext(ctx, *simrun, "merge", *results)
	merge.Stdout, merge.Stderr = stdout, stderr
	var exited *exec.ExitError
	if err := merge.Run(); err != nil && !errors.As(err, &exited) {
		return 0, err
	}
	return merge.ProcessState.ExitCode(), nil
}
