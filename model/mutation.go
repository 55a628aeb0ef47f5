package model

import (
	"fmt"
	"strconv"
	"strings"
)

// A consumer may mutate a delivered object, and nobody else may see that. To test it,
// some consumers overwrite every object that they receive with a mark that names the
// stream. No writer writes a mark, so whoever reads one sees a mutation by that
// stream. Recorded histories contain the mark, so its text must not change.
const scribbled = "scribbled over by stream "

// MutationMark returns the mark that the consumer of a stream leaves in the objects it receives.
func MutationMark(stream int) string { return scribbled + strconv.Itoa(stream) }

// MutatedBy returns the stream whose consumer left its mark anywhere in the
// object, false if none did.
func MutatedBy(object *Object) (stream int, found bool) {
	if object == nil {
		return 0, false
	}
	for _, text := range []string{object.Value, object.Node, object.UID} {
		if stream, found := markIn(text); found {
			return stream, true
		}
	}
	// The lowest stream, so that the result does not depend on the order of a map.
	for name, value := range object.Labels {
		for _, text := range []string{name, value} {
			if by, marked := markIn(text); marked && (!found || by < stream) {
				stream, found = by, true
			}
		}
	}
	return stream, found
}

func markIn(text string) (stream int, found bool) {
	number, found := strings.CutPrefix(text, scribbled)
	if !found {
		return 0, false
	}
	stream, err := strconv.Atoi(number)
	return stream, err == nil
}

// Mutate overwrites the fields of an object with the mark of a stream. It changes
// the labels in place, as a careless consumer does.
func Mutate(object *Object, stream int) {
	mark := MutationMark(stream)
	object.Value, object.Node = mark, mark
	for name := range object.Labels {
		object.Labels[name] = mark
	}
	if object.Labels != nil {
		object.Labels[fmt.Sprint("scribble-", stream)] = mark
	}
}
