package explain

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// window says, of a watch that was refused for its resourceVersion, what the
// server had shown to hold: how far it had got, and how many changes its cache
// needs to serve the watch.
func (e *Explainer) window(s *model.Stream) string {
	refusal := s.Err
	if refusal == model.OK && len(s.Events) > 0 && s.Events[0].Type == model.Error {
		refusal = s.Events[0].Err
	}
	if refusal != model.Expired && refusal != model.TooLarge {
		return ""
	}
	return e.reached(s.Server, s.Call, s.RV)
}

// reached says how far a server had got by what it had sent before a request for
// an RV was called.
func (e *Explainer) reached(server string, called, rv int64) string {
	var newest *model.Event
	by := 0
	for s := range model.Each(e.history.Streams) {
		if s.Server != server {
			continue
		}
		for event := range model.Each(s.Events) {
			if event.Time < called && event.IsData() && (newest == nil || event.RV > newest.RV) {
				newest, by = event, s.ID
			}
		}
	}
	if newest == nil {
		return fmt.Sprintf("Before that, %s had sent nothing on any stream.", server)
	}
	text := fmt.Sprintf("Before that, %s had sent up to RV %d (%s at %s, on stream %d)", server, newest.RV, newest.Type, model.At(newest.Time), by)
	if e.store == nil || rv <= 0 {
		return text + "."
	}
	if rv >= newest.RV {
		return text + fmt.Sprintf("; etcd's last revision in this run is %d.", e.history.Truth.Revision)
	}
	return text + fmt.Sprintf("; from RV %d to there, a cache has to hold %s of the resource.", rv, model.Plural(e.store.CountChanges(rv, newest.RV), "change"))
}
