package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// The caches, as the benchmarks name them.
const (
	ours   = "cacher"
	theirs = "kubernetes"
)

// figure is something that a benchmark measures for one cache.
type figure struct{ benchmark, unit, cache string }

// measurements are the values of each figure, one for each round.
type measurements struct {
	machine string
	values  map[figure][]float64
	order   []figure // of this cache, as they were first seen
}

// read reads the output of benchmarks.
func read(path string) (*measurements, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m := &measurements{values: map[figure][]float64{}}
	reader := benchfmt.NewReader(file, path)
	for reader.Scan() {
		// Other records are what logs wrote in between.
		if result, ok := reader.Result().(*benchfmt.Result); ok {
			m.add(result)
		}
	}
	return m, reader.Err()
}

func (m *measurements) add(result *benchfmt.Result) {
	m.machine = fmt.Sprintf("%s, %s/%s", result.GetConfig("cpu"), result.GetConfig("goos"), result.GetConfig("goarch"))
	name, cache := splitName(result.Name)
	for _, value := range result.Values {
		f := figure{name, value.Unit, cache}
		if cache == ours && m.values[f] == nil {
			m.order = append(m.order, f)
		}
		m.values[f] = append(m.values[f], value.Value)
	}
}

// splitName returns a benchmark's name without the cache and the number of
// processors, and the cache.
func splitName(full benchfmt.Name) (name, cache string) {
	base, parts := full.Parts()
	kept := []string{string(base)}
	for _, part := range parts {
		text := string(part)
		if value, found := strings.CutPrefix(text, "/cache="); found {
			cache = value
		} else if !strings.HasPrefix(text, "-") {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, ""), cache
}

// sample is the values of one figure, of which benchstat's median is taken.
func (m *measurements) sample(f figure) (*benchmath.Sample, error) {
	values := m.values[f]
	if len(values) == 0 {
		return nil, fmt.Errorf("expected %s to report %s for cache=%s, found nothing", f.benchmark, f.unit, f.cache)
	}
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), nil
}

func median(s *benchmath.Sample) float64 { return benchmath.AssumeNothing.Summary(s, 0.95).Center }

// best returns the benchmark, of those below a name, with the largest median of
// deliveries/s for one cache, at which that cache closed no watch.
func (m *measurements) best(name, cache string) (string, error) {
	found, most := "", 0.0
	for f := range m.values {
		if f.cache != cache || f.unit != "deliveries/s" || !strings.HasPrefix(f.benchmark, name+"/") {
			continue
		}
		if slices.Max(m.values[figure{f.benchmark, "closed", cache}]) > 0 {
			continue
		}
		deliveries, err := m.sample(f)
		if err != nil {
			return "", err
		}
		if rate := median(deliveries); rate > most {
			found, most = f.benchmark, rate
		}
	}
	if found == "" {
		return "", fmt.Errorf("expected a benchmark below %s at which cache=%s closes no watch, found none", name, cache)
	}
	return found, nil
}
