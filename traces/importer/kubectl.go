package importer

import (
	"io"

	"github.com/watchsim/watchsim/model"
)

// readKubectl adds the output of one kubectl to a recording, as one stream. Errors name the
// position in the file. A truncated last value is left out, because kubectl is usually
// interrupted.
func readKubectl(recording *Recording, server, file string, in io.Reader) error {
	stream := model.Stream{Client: "kubectl:" + file, Server: server, RV: model.RVUnset}
	kind := ""
	err := recording.eachValue(file, in, func(value jsonValue) error {
		event, of, err := plain.Event(value.Text)
		if err != nil {
			return value.Errorf("%w; was kubectl given --output-watch-events and -o json?", err)
		}
		if kind == "" && event.Type != model.Error {
			kind = of
		}
		switch {
		case event.Type != model.Error && of != kind:
			return value.Errorf("expected an object of the kind %.50q, as before it, found the kind %.50q; watch one resource at a time", kind, of)
		case len(stream.Events) >= MaxObjects:
			return value.Errorf("expected at most %d events, found more", MaxObjects)
		}
		stream.Events = append(stream.Events, event)
		return nil
	})
	if err != nil {
		return err
	}
	return recording.AddStream(stream, true)
}
