package model

import (
	"fmt"
	"strconv"
	"strings"
)

// A consumer may do with a delivered object what it likes, and nobody else must
// see that. Scribbling is the test: whoever scribbles writes one mark, which
// names its stream, over everything it received. No writer writes such a mark,
// so whoever reads one sees the doing of that stream.
const scribbled = "scribbled over by stream "

// Scribble is the mark that the consumer of a stream leaves.
func Scribble(stream int) string { return scribbled + strconv.Itoa(stream) }

// ScribbledBy returns the stream whose consumer left its mark anywhere in the
// object, false if none did.
func ScribbledBy(object *Object) (stream int, found bool) {
	if object == nil {
		return 0, false
	}
	for _, text := range []string{object.Value, object.Node, object.UID} {
		if stream, found := markIn(text); found {
			return stream, true
		}
	}
	// The lowest stream, so that the answer does not depend on the order of a map.
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

// ScribbleOver leaves the mark of a stream wherever the object has room for it.
// It changes the labels in place, as a careless consumer does.
func ScribbleOver(object *Object, stream int) {
	mark := Scribble(stream)
	object.Value, object.Node = mark, mark
	for name := range object.Labels {
		object.Labels[name] = mark
	}
	if object.Labels != nil {
		object.Labels[fmt.Sprint("scribble-", stream)] = mark
	}
}
