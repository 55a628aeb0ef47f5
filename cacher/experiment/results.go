package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const (
	resultsFile = "results.json"
	plotFile    = "plot.svg"
)

// results are all measurements of a run, in the order in which they were made.
type results struct {
	Machine  string
	Settings settings
	Points   []point
}

// load reads what save has written.
func load(path string) (results, error) {
	var r results
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("expected %s to be the %s of a run: %w", path, resultsFile, err)
	}
	if len(r.Points) == 0 {
		return r, fmt.Errorf("expected measurements in %s, found none", path)
	}
	return r, nil
}

// save writes the measurements and the plot of them.
func (r results) save(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, resultsFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	picture, err := r.plot()
	return errors.Join(err, os.WriteFile(filepath.Join(folder, plotFile), picture, 0o644))
}

// rounds are the measurements of one variant with one number of watches.
type rounds []point

// of returns what was measured of a variant, by increasing number of watches.
func (r results) of(variant string) []rounds {
	byWatches := map[int]rounds{}
	for _, p := range r.Points {
		if p.Variant == variant {
			byWatches[p.Watches] = append(byWatches[p.Watches], p)
		}
	}
	var all []rounds
	for _, group := range byWatches {
		all = append(all, group)
	}
	slices.SortFunc(all, func(a, b rounds) int { return a[0].Watches - b[0].Watches })
	return all
}

// median of one figure over the rounds; the lower one of two.
func (r rounds) median(figure func(point) float64) float64 {
	values := make([]float64, len(r))
	for i, p := range r {
		values[i] = figure(p)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// verdict says whether every watch got every event once and in order.
func (r results) verdict() (sentence string, delivered bool) {
	var broken []string
	events := 0
	for _, p := range r.Points {
		d := p.Delivery
		events += d.Expected
		if d.Missing+d.Wrong+d.Ended > 0 {
			broken = append(broken, fmt.Sprintf("%s with %d watches: of %d events %d did not come, %d came twice or out of order; %d watches were ended",
				p.Variant, p.Watches, d.Expected, d.Missing, d.Wrong, d.Ended))
		}
	}
	if len(broken) > 0 {
		return strings.Join(broken, "\n"), false
	}
	return fmt.Sprintf("all of %d events came, once and in order", events), true
}

// machine says what the figures were measured on.
func machine() string {
	model := "unknown CPU"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
	}
	return fmt.Sprintf("%s, %d cores, load %s before, %s %s/%s", model, runtime.NumCPU(), load, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
