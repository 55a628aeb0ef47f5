package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// printTable prints the rows of the parts, and all of the upstream part.
func printTable(w io.Writer, chosen []part, m *measurements) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "measured\tours\tKubernetes\tratio\tp\twanted\t")
	for _, p := range chosen {
		for _, r := range p.rows {
			if err := printRow(table, r, m); err != nil {
				return err
			}
		}
		if p.name != upstreamPart {
			continue
		}
		for _, f := range m.order {
			if !strings.HasPrefix(f.benchmark, "Upstream") {
				continue
			}
			r := row{what: strings.TrimPrefix(f.benchmark, "Upstream") + ": " + f.unit, benchmark: f.benchmark, unit: f.unit}
			if err := printRow(table, r, m); err != nil {
				return err
			}
		}
	}
	return table.Flush()
}

func printRow(w io.Writer, r row, m *measurements) error {
	mine, err := m.of(r, ours)
	if err != nil {
		return err
	}
	other, err := m.of(r, theirs)
	if err != nil {
		return err
	}
	found, reference := median(mine), median(other)
	ratio := "-"
	if reference != 0 {
		ratio = fmt.Sprintf("%.2f", found/reference)
	}
	chance := benchmath.AssumeNothing.Compare(mine, other).P
	text, verdict := r.wanted.judge(found, reference, chance)
	class := benchunit.ClassOf(r.unit)
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.3f\t%s\t%s\n", r.what, benchunit.Scale(found, class), benchunit.Scale(reference, class), ratio, chance, text, verdict)
	return nil
}

// of returns the sample of a row for one cache.
func (m *measurements) of(r row, cache string) (*benchmath.Sample, error) {
	benchmark := r.benchmark
	if r.best {
		var err error
		if benchmark, err = m.best(r.benchmark, cache); err != nil {
			return nil, err
		}
	}
	return m.sample(figure{benchmark, r.unit, cache})
}

const (
	// significance is the probability below which a difference is not put down to
	// chance, as in benchstat.
	significance = 0.05
	// tolerance is the ratio that is never put down to chance: few rounds could not
	// tell.
	tolerance = 1.1
)

// judge says what is wanted, and whether it is met. chance is the probability that the
// two samples differ as they do although the caches do not.
func (w wanted) judge(found, reference, chance float64) (text, verdict string) {
	met := false
	switch w.kind {
	case forInformation:
		return "", ""
	case atLeast:
		text, met = fmt.Sprintf("at least %g times", w.ratio), found >= w.ratio*reference
	case atMost:
		text, met = fmt.Sprintf("at most %g times", w.ratio), found <= w.ratio*reference
	case none:
		text, met = "0", found == 0
	case notMore:
		text, met = "not more", found <= w.ratio*reference
		if !met && chance >= significance && found <= tolerance*reference {
			return text, "met, within chance"
		}
	}
	if met {
		return text, "met"
	}
	return text, "MISSED"
}
