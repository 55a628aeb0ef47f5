package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	oracleLeast      = 1e6     // events a second of one core
	oracleMemoryMost = 2 << 30 // bytes, the history included
)

// oraclePackage is the program that judges generated histories. It is a process
// of its own, so that its memory is known.
const oraclePackage = "./linearizability/bench"

// oracleReport is what it prints, as far as it matters here.
type oracleReport struct {
	Oracle []struct {
		Events, Streams, Operations int
		CPU                         float64 `json:"cpu_seconds"`
	}
	PeakMemory int64 `json:"peak_memory"`
	Plain      []struct {
		Model      string
		Operations int
		Wall       float64 `json:"wall_seconds"`
		Result     string
	}
	PlainLimit float64 `json:"plain_limit"`
}

// oracle measures how the oracle does on large histories, and how porcupine does
// by itself.
func oracle(s settings) ([]row, error) {
	dir, err := os.MkdirTemp("", "watchsim-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "oracle")
	if out, err := exec.Command("go", "build", "-o", binary, oraclePackage).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build %s: %w\n%s", oraclePackage, err, out)
	}
	fmt.Fprintf(s.notes, "+ %s -json\n", oraclePackage)
	command := exec.Command(binary, "-json")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	var found oracleReport
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, err
	}
	return found.rows(), nil
}

// rows has a target for the largest history alone.
func (r oracleReport) rows() (rows []row) {
	for i, j := range r.Oracle {
		rate := float64(j.Events) / j.CPU
		one := row{what: fmt.Sprintf("oracle: %d events on %d streams, %d reads and writes", j.Events, j.Streams, j.Operations),
			found: fmt.Sprintf("%.2f s, %.0f events a second a core", j.CPU, rate)}
		if i == len(r.Oracle)-1 {
			one.target, one.met = fmt.Sprintf("at least %.0f", oracleLeast), rate >= oracleLeast
		}
		rows = append(rows, one)
	}
	rows = append(rows, row{"oracle: memory, the history included", fmt.Sprintf("%d MiB", r.PeakMemory>>20),
		fmt.Sprintf("below %d MiB", oracleMemoryMost>>20), r.PeakMemory < oracleMemoryMost})
	for i, p := range r.Plain {
		if i+1 == len(r.Plain) || r.Plain[i+1].Model != p.Model || p.Result != "Ok" {
			rows = append(rows, row{what: fmt.Sprintf("porcupine without RVs, %s: %d operations", p.Model, p.Operations),
				found: fmt.Sprintf("%s after %.1f s of %.0f", p.Result, p.Wall, r.PlainLimit)})
		}
	}
	return rows
}
