// Command replays records failures of many known bugs and runs each again in a
// process of its own, which has to come to the same hash.
//
//	go run ./search/mutant/replays -count 200
//
// It exits with 1 if one does not, or if there were fewer failures than asked for.
//
//   - main.go: flags, and the result
//   - record.go: failures of one bug
//   - replay.go: one failure in a fresh process
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// options are what the command is given.
type options struct {
	count, seeds, each int
	binary             string
}

func main() {
	var o options
	flag.IntVar(&o.count, "count", 200, "number of failures to record and replay")
	flag.IntVar(&o.seeds, "seeds", 12, "number of seeds that are run with each bug")
	flag.IntVar(&o.each, "each", 5, "most failures of one bug")
	flag.StringVar(&o.binary, "binary", "", "simrun with all bugs inside, as the hunt builds it (default: build it)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "replays: %v\n", err)
		os.Exit(1)
	}
}

// errReplay means that the replays do not show what they are to show.
var errReplay = errors.New("failures do not replay")

func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.binary == "" {
		fmt.Fprintln(out, "building simrun with all bugs inside; minutes the first time")
		if o.binary, err = selfbuild.BuildSwitched(mutant.All()); err != nil {
			return err
		}
	}
	if o.binary, err = filepath.Abs(o.binary); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "watchsim-replays-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began, recorded, bugs, different := time.Now(), 0, 0, 0
	for _, m := range mutant.All() {
		if recorded >= o.count || ctx.Err() != nil {
			break
		}
		folders, err := record(ctx, o, m, filepath.Join(dir, m.Name))
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		folders = folders[:min(len(folders), o.each, o.count-recorded)]
		agreed := 0
		for _, folder := range folders {
			same, said, err := replay(ctx, o.binary, m.Name, folder)
			if err != nil {
				return fmt.Errorf("%s: %w", folder, err)
			}
			if same {
				agreed++
			} else {
				fmt.Fprintf(out, "%s %s: %s\n", m.Name, filepath.Base(folder), said)
			}
		}
		if len(folders) > 0 {
			bugs++
			fmt.Fprintf(out, "%-24s %d of %d failures replay with the same hash\n", m.Name, agreed, len(folders))
		}
		recorded, different = recorded+len(folders), different+len(folders)-agreed
		if err := os.RemoveAll(filepath.Join(dir, m.Name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d failures of %d bugs, %d with another hash, in %.0f s\n", recorded, bugs, different, time.Since(began).Seconds())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case different > 0:
		return fmt.Errorf("%w: %d of %d came to another hash", errReplay, different, recorded)
	case recorded < o.count:
		return fmt.Errorf("%w: expected %d, found %d; try more with -seeds or -each", errReplay, o.count, recorded)
	}
	return nil
}
