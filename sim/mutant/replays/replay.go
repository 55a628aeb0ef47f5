package main

import (
	"context"
	"strings"
)

// replay runs a recorded failure again in a fresh process and says whether its hash
// is the recorded one.
func replay(ctx context.Context, binary, on, folder string) (same bool, said string, err error) {
	text, err := simrun(ctx, binary, on, "replay", folder)
	if err != nil {
		return false, "", err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.Contains(line, "the hash agrees: ") {
			return true, strings.TrimSpace(line), nil
		}
		if strings.Contains(line, "the replay differs: ") {
			said = strings.TrimSpace(line)
		}
	}
	return false, said, nil
}
