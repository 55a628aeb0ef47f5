package main

import (
	"context"
	"strings"
)

// agreements are what `simrun replay` says of a run that is the recorded one. One that
// killed its worker has no hash.
var agreements = []string{"the hash agrees: ", "the process died after the same decisions "}

// replay runs a recorded failure again in a fresh process and says whether it is the
// same run.
func replay(ctx context.Context, binary, on, folder string) (same bool, said string, err error) {
	text, err := simrun(ctx, binary, on, "replay", folder)
	if err != nil {
		return false, "", err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		for _, agreement := range agreements {
			if strings.Contains(line, agreement) {
				return true, strings.TrimSpace(line), nil
			}
		}
		if strings.Contains(line, "the replay differs: ") {
			said = strings.TrimSpace(line)
		}
	}
	return false, said, nil
}
