#!/usr/bin/env bash
# Writes an overlay of Go's time package to the given folder. It adds time.WallOffset, in
# seconds, to the wall clock of time.Now. The copy is named .txt, as it would otherwise be
# a package of the module around the folder.
set -euo pipefail
source=$(go env GOROOT)/src/time/time.go
sed -e 's|^\t"errors"$|\t"errors"\n\t"sync/atomic"|' \
	-e '/^func Now() Time {$/,/^}$/ s|runtimeNow()$|&\n\tsec += WallOffset.Load()|' \
	-e 's|^func Now() Time {$|var WallOffset atomic.Int64\n\n&|' "$source" >"$1/time.txt"
grep -q 'sec += WallOffset' "$1/time.txt"
echo "{\"Replace\": {\"$source\": \"$1/time.txt\"}}" >"$1/overlay.json"
