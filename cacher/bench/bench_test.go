package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// printed is what two rounds print, with what a log writes in between.
const printed = `goos: linux
goarch: amd64
pkg: example
cpu: A processor
BenchmarkSustained/window=1/cache=cacher-2 1 0 closed 300 cpu-ns/delivery 4000 deliveries/s
BenchmarkSustained/window=1/cache=kubernetes-2 1 0 closed 900 cpu-ns/delivery 1000 deliveries/s
BenchmarkSustained/window=10/cache=cacher-2 1 0 closed 200 cpu-ns/delivery 9000 deliveries/s
W1121 a warning
BenchmarkSustained/window=10/cache=kubernetes-2 1 0 closed 800 cpu-ns/delivery 2000 deliveries/s
BenchmarkIdle/cache=cacher-2 1 1500 B/watch
BenchmarkIdle/cache=kubernetes-2 1 3000 B/watch
BenchmarkSustained/window=1/cache=cacher-2 1 0 closed 300 cpu-ns/delivery 4000 deliveries/s
BenchmarkSustained/window=1/cache=kubernetes-2 1 0 closed 900 cpu-ns/delivery 1000 deliveries/s
BenchmarkSustained/window=10/cache=cacher-2 1 0 closed 200 cpu-ns/delivery 9000 deliveries/s
BenchmarkSustained/window=10/cache=kubernetes-2 1 7 closed 800 cpu-ns/delivery 2000 deliveries/s
`

func readText(t *testing.T, text string) *measurements {
	t.Helper()
	path := filepath.Join(t.TempDir(), "printed.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	m, err := read(path)
	require.NoError(t, err)
	return m
}

func TestTable(t *testing.T) {
	m := readText(t, printed)
	require.Equal(t, "A processor, linux/amd64", m.machine)
	var table bytes.Buffer
	require.NoError(t, printTable(&table, []part{parts[0], parts[2]}, m))
	lines := strings.Split(table.String(), "\n")
	// Kubernetes' best window closed watches in one of the rounds, so it does not count.
	require.Equal(t, "9.000k 1.000k 9.00", strings.Join(columns(lines[1]), " "))
	require.Equal(t, "200.0n 900.0n 0.22", strings.Join(columns(lines[2]), " "))
	require.Equal(t, "1.465Ki 2.930Ki 0.50", strings.Join(columns(lines[3]), " "))
	require.Contains(t, lines[3], "at most 0.5 times")
	require.NotContains(t, table.String(), "MISSED")
}

// columns are the two figures and their ratio.
func columns(line string) []string { return regexp.MustCompile(" {2,}").Split(line, -1)[1:4] }

func TestMissingMeasurement(t *testing.T) {
	err := printTable(&bytes.Buffer{}, []part{parts[3]}, readText(t, printed))
	require.ErrorContains(t, err, "expected Establish to report sec/op for cache=cacher, found nothing")
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		wanted                   wanted
		found, reference, chance float64
		verdict                  string
	}{
		{wanted{atLeast, 5}, 50, 10, 0, "met"},
		{wanted{atLeast, 5}, 49, 10, 0, "MISSED"},
		{wanted{atMost, 0.5}, 5, 10, 0, "met"},
		{wanted{atMost, 0.5}, 5.1, 10, 0, "MISSED"},
		{wanted{none, 0}, 0, 10_000, 0, "met"},
		{wanted{none, 0}, 1, 10_000, 0, "MISSED"},
		{wanted{notMore, 1}, 10, 10, 1, "met"},
		{wanted{notMore, 1}, 10.9, 10, 0.2, "met, within chance"},
		{wanted{notMore, 1}, 10.9, 10, 0.01, "MISSED"},
		{wanted{notMore, 1}, 12, 10, 0.2, "MISSED"},
		{wanted{}, 12, 10, 0.2, ""},
	} {
		_, verdict := c.wanted.judge(c.found, c.reference, c.chance)
		require.Equal(t, c.verdict, verdict, "%+v", c)
	}
}

func TestBadInput(t *testing.T) {
	for argument, message := range map[string]string{
		"-only=speed": "expected some of sustained, burst",
		"-rounds=-1":  "expected a number of at least 1",
		"speed":       "expected flags alone",
		"-unknown":    "flag provided but not defined",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run([]string{argument}, &stdout, &stderr))
		require.Contains(t, stderr.String(), message)
		require.Empty(t, stdout.String())
	}
}
