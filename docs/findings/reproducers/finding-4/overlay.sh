#!/usr/bin/env bash
# Writes to the folder given an overlay of Go's time package, in which time.WallOffset,
# in seconds, is added to the wall clock of time.Now. The copy is named .txt, or it would be
# a package of the module around the folder.
set -euo pipefail
source=$(go env GOROOT)/src/time/time.go
sed -e 's|^\t"errors"$|\t"errors"\n\t"sync/atomic"|' \
	-e '/^func Now() Time {$/,/^}$/ s|runtimeNow()$|&\n\tsec += WallOffset.Load()|' \
	-e 's|^func Now() Time {$|var WallOffset atomic.Int64\n\n&|' "$source" >"$1/time.txt"
grep -q 'sec += WallOffset' "$1/time.txt"
echo "{\"Replace\": {\"$source\": \"$1/time.txt\"}}" >"$1/overlay.json"
