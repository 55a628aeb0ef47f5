package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// resultsFormat and resultsVersion identify a file of results.
const (
	resultsFormat  = "watchsim.results"
	resultsVersion = 2 // version 1 had violations and reasons as text only
)

// ErrResults means that a file holds no results, or unexpected ones.
var ErrResults = errors.New("not usable as results")

// Header is the first line of a results file: everything besides the seed that the following lines
// depend on.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Spec is the spec of the runs; its seed is 0.
	Spec scenario.Spec `json:"spec"`
	// First and Last are the range of the whole campaign.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Shard
	// Build is the fingerprint of the binary, and Go the release it was built with: a seed is
	// another run in another binary.
	Build string `json:"build"`
	Go    string `json:"go"`
	// Command runs a seed again, once [SeedPlaceholder] in it is replaced by the seed.
	Command string `json:"command"`
}

// SeedPlaceholder stands for the seed in a header's command.
const SeedPlaceholder = "{seed}"

// NewHeader returns the header of one shard's results.
func NewHeader(spec scenario.Spec, first, last uint64, shard Shard, build, goVersion, command string) Header {
	spec.Seed = 0
	return Header{
		Format: resultsFormat, Version: resultsVersion, Spec: spec, First: first, Last: last,
		Shard: shard, Build: build, Go: goVersion, Command: command,
	}
}

// Fingerprint identifies a binary by its content.
func Fingerprint(binary string) (string, error) {
	sum := sha256.New()
	file, err := os.Open(binary)
	if err == nil {
		defer file.Close()
		_, err = io.Copy(sum, file)
	}
	if err != nil {
		return "", fmt.Errorf("cannot tell which build this is: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil))[:fingerprintDigits], nil
}

// fingerprintDigits is how many hexadecimal digits identify a build.
const fingerprintDigits = 16

// Seeds is how many seeds the shard has.
func (h Header) Seeds() uint64 { return h.Size(h.First, h.Last) }

// Owns reports whether a seed is in the range and in the shard.
func (h Header) Owns(seed uint64) bool {
	return seed >= h.First && seed <= h.Last && h.Shard.Owns(h.First, seed)
}

// Reproduce is the command that runs a seed again.
func (h Header) Reproduce(seed uint64) string {
	return strings.Replace(h.Command, SeedPlaceholder, fmt.Sprint(seed), 1)
}

// parseHeader reads the first line of the file of that name.
func parseHeader(path string, line []byte) (Header, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil || h.Format != resultsFormat {
		return h, fmt.Errorf("%w: %s: expected a first line of JSON with the format %q, found something else", ErrResults, path, resultsFormat)
	}
	switch {
	case h.Version != resultsVersion:
		return h, fmt.Errorf("%w: %s: expected version %d, found version %d; use the watchsim that wrote it", ErrResults, path, resultsVersion, h.Version)
	case h.Last < h.First || h.Count < 1 || h.Index < 1 || h.Index > h.Count:
		return h, fmt.Errorf("%w: %s: expected a range of seeds and one of its shards, found seeds %d to %d and shard %s", ErrResults, path, h.First, h.Last, h.Shard)
	}
	return h, nil
}

// difference says how two campaigns differ, apart from the shard; it is empty if they are the same.
// wanted is the expected one.
func (h Header) difference(wanted Header) string {
	differ := func(what string, wanted, found any) string {
		return fmt.Sprintf("expected %s %v, found %v", what, wanted, found)
	}
	switch {
	case h.First != wanted.First || h.Last != wanted.Last:
		return fmt.Sprintf("expected seeds %d to %d, found %d to %d", wanted.First, wanted.Last, h.First, h.Last)
	case h.Count != wanted.Count:
		return fmt.Sprintf("expected one of %d shards, found one of %d", wanted.Count, h.Count)
	case h.Spec.Target != wanted.Spec.Target:
		return differ("target", wanted.Spec.Target, h.Spec.Target)
	case h.Spec.Scenario != wanted.Spec.Scenario:
		return differ("scenario", wanted.Spec.Scenario, h.Spec.Scenario)
	case h.Spec.Mutant != wanted.Spec.Mutant:
		return fmt.Sprintf("expected mutant %q, found %q", wanted.Spec.Mutant, h.Spec.Mutant)
	case h.Spec.Use != wanted.Spec.Use:
		return fmt.Sprintf("expected --use %q, found %q", wanted.Spec.Use, h.Spec.Use)
	case !reflect.DeepEqual(h.Spec, wanted.Spec):
		return differ("runs of", compact(wanted.Spec), compact(h.Spec))
	case h.Build != wanted.Build:
		return differ("results of build", wanted.Build, h.Build)
	}
	return ""
}

func compact(spec scenario.Spec) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(spec)
	return strings.TrimSpace(b.String())
}
