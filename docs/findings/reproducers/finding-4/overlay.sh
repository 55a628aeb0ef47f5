#!/usr/bin/env bash
# Writes to the folder given an overlay of Go's time package, in which time.WallOffset,
# in seconds, is added to the wall clock of time.Now.
set -euo pipefail
source=$(go env GOROOT)/src/time/time.go
sed -e 's|^\t"errors"$|\t"errors"\n\t"sync/atomic"|' \
	-e '/^func Now() Time {$/,/^}$/ s|runtimeNow()$|&\n\tsec += WallOffset.Load()|' \
	-e 's|^func Now() Time {$|var WallOffset atomic.Int64\n\n&|' "$source" >"$1/time.go"
grep -q 'sec += WallOffset' "$1/time.go"
echo "{\"Replace\": {\"$source\": \"$1/time.go\"}}" >"$1/overlay.json"
