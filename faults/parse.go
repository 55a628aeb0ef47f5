package faults

import (
	"fmt"
	"strings"
	"time"
)

// Parse reads a plan: one fault a line, empty lines and comments from # to the
// end of a line aside.
//
//	at DURATION KIND NAME=VALUE...
//
// An error names the line, what was expected there, and what was found.
func Parse(text string) (Plan, error) {
	if version, ok := strings.CutPrefix(text, planHeaderPrefix); ok {
		version, _, _ = strings.Cut(version, "\n")
		if version = strings.TrimSpace(version); version != planVersion {
			return nil, fmt.Errorf("faults: line 1: expected a plan of version %s, found %q", planVersion, version)
		}
	}
	var plan Plan
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		fault, err := parseFault(words)
		if err != nil {
			return nil, fmt.Errorf("faults: line %d: %w", number, err)
		}
		plan = append(plan, fault)
	}
	return plan, nil
}

// parseFault reads the words of one line, of which there is at least one.
func parseFault(words []string) (fault Fault, err error) {
	if words[0] != "at" {
		return fault, fmt.Errorf("expected a line to begin with at, found %q", words[0])
	}
	word := func(index int) string {
		if index < len(words) {
			return words[index]
		}
		return ""
	}
	if fault.At, err = time.ParseDuration(word(1)); err != nil || fault.At < 0 {
		return fault, fmt.Errorf("expected a time since the start such as 12.5s after at, found %q", word(1))
	}
	kind, ok := Lookup(word(2))
	if !ok {
		return fault, fmt.Errorf("expected one of the kinds %s, found %q", kindNames(), word(2))
	}
	fault.Kind = kind.Name
	arguments := map[string]string{}
	for _, word := range words[3:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fault, fmt.Errorf("expected name=value after %s, found %q", kind.Name, word)
		}
		if _, twice := arguments[name]; twice {
			return fault, fmt.Errorf("expected %s once, found it twice", name)
		}
		if !kind.has(name) {
			return fault, fmt.Errorf("expected %s of %s, found %q", kind.parameterNames(), kind.Name, name)
		}
		arguments[name] = value
	}
	for _, parameter := range kind.Parameters {
		value, ok := arguments[parameter.Name]
		if !ok {
			return fault, fmt.Errorf("expected %s= with %s, found none for %s", parameter.Name, parameter.Expects, kind.Name)
		}
		if parameter.set(&fault, value) != nil {
			return fault, fmt.Errorf("expected %s after %s=, found %q", parameter.Expects, parameter.Name, value)
		}
	}
	return fault, nil
}

func (k Kind) has(name string) bool {
	for _, parameter := range k.Parameters {
		if parameter.Name == name {
			return true
		}
	}
	return false
}

func (k Kind) parameterNames() string {
	if len(k.Parameters) == 0 {
		return "no parameters"
	}
	var names []string
	for _, parameter := range k.Parameters {
		names = append(names, parameter.Name)
	}
	return "the parameters " + strings.Join(names, ", ")
}
