package linearizability

import "github.com/watchsim/watchsim/model"

// countRelists counts the times that a client which follows the list-watch
// protocol began anew: a first page, or a stream that begins with the state, by
// a client that had already watched from a list or resumed a stream.
func (c *checker) countRelists() {
	// The first time at which each client has resumed.
	resumed := map[string]int{}
	for i := range c.history.Streams {
		s := &c.history.Streams[i]
		if s.ResumesList == 0 && s.ResumesStream == 0 {
			continue
		}
		if first, known := resumed[s.Client]; !known || s.ID < first {
			resumed[s.Client] = s.ID
		}
	}
	again := func(client string, id int) bool {
		first, known := resumed[client]
		return known && id > first
	}
	for i := range c.history.Operations {
		if op := &c.history.Operations[i]; op.Kind == model.List && op.Continues == 0 && again(op.Client, op.ID) {
			c.counts.Relists++
		}
	}
	for i := range c.history.Streams {
		if s := &c.history.Streams[i]; s.InitialEvents && again(s.Client, s.ID) {
			c.counts.Relists++
		}
	}
}
