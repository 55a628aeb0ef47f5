package kubectl

import (
	"errors"
	"io"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/cluster"
	"github.com/watchsim/watchsim/traces/kubeapi"
	"github.com/watchsim/watchsim/traces/values"
)

// Read adds the output of one kubectl to a recording, as one stream. Errors name the
// place in the file. A value that the end of the file cuts off is left out, as
// kubectl is usually interrupted.
func Read(recording *cluster.Recording, server, file string, in io.Reader) error {
	reader, err := values.NewReader(file, in)
	if err != nil {
		return err
	}
	stream := model.Stream{Client: "kubectl:" + file, Server: server, RV: model.RVUnset}
	kind := ""
	for {
		value, err := reader.Next()
		if errors.Is(err, values.ErrCut) {
			recording.Leave(err.Error())
			err = io.EOF
		}
		if err == io.EOF {
			return recording.Stream(stream, true)
		}
		if err != nil {
			return err
		}
		event, of, err := kubeapi.Plain.Event(value.Text)
		if err != nil {
			return value.Errorf("%w; was kubectl given --output-watch-events and -o json?", err)
		}
		if event.Type != model.Error {
			if kind == "" {
				kind = of
			}
			if of != kind {
				return value.Errorf("expected an object of the kind %.50q, as before it, found the kind %.50q; watch one resource at a time", kind, of)
			}
		}
		if len(stream.Events) >= cluster.ObjectsMost {
			return value.Errorf("expected at most %d events, found more", cluster.ObjectsMost)
		}
		stream.Events = append(stream.Events, event)
	}
}
