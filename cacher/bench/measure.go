package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// measure builds the benchmarks, and runs all rounds of all parts into the raw file.
func measure(s settings) error {
	folder, err := os.MkdirTemp("", "bench-cacher-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "cacher.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "./cacher")
	build.Stderr = s.notes
	if err := build.Run(); err != nil {
		return fmt.Errorf("expected the project's folder, whose ./cacher can be built; go test -c: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.raw), 0o777); err != nil {
		return err
	}
	raw, err := os.Create(s.raw)
	if err != nil {
		return err
	}
	return errors.Join(runRounds(s, binary, raw), raw.Close())
}

// runRounds runs the rounds of a part one after the other. Both caches are measured in
// each, so that what changes on the machine meanwhile concerns both.
func runRounds(s settings, binary string, raw io.Writer) error {
	for _, p := range s.parts {
		rounds := p.rounds
		if s.rounds > 0 {
			rounds = s.rounds
		}
		for round := range rounds {
			started := time.Now()
			benchmark := exec.Command(binary, "-test.run", "^$", "-test.bench", p.pattern, "-test.benchtime", p.benchtime, "-test.timeout", "30m")
			benchmark.Dir = "cacher"
			benchmark.Stdout = raw
			if err := benchmark.Run(); err != nil {
				return fmt.Errorf("%s, round %d: %w: see what the benchmarks printed in %s", p.name, round+1, err, s.raw)
			}
			fmt.Fprintf(s.notes, "%s: round %d of %d took %v\n", p.name, round+1, rounds, time.Since(started).Round(time.Second))
		}
	}
	return nil
}
