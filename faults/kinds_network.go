package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/watchsim/watchsim/model"
)

func networkKinds() []Kind {
	return []Kind{{
		Name: "latency",
		Doc: "Delays all traffic between two processes. " +
			"Requests take longer; nothing is lost or reordered within a stream.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterDelay, parameterFor},
		claims:     claimsLatency,
		begin:      func(a action) (string, error) { return "", a.setLatency(a.From, a.To, a.Delay) },
		end:        func(a action) error { return a.setLatency(a.From, a.To, 0) },
	}, {
		Name: "partition",
		Doc: "Silently stops all traffic between two processes; what they send arrives when it heals. " +
			"Reads that must be fresh wait or fail, and watches catch up afterwards without a gap.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterFor},
		claims:     claimsLink,
		begin:      func(a action) (string, error) { return "", a.Partition(a.From, a.To) },
		end:        func(a action) error { return a.HealLink(a.From, a.To) },
	}, {
		Name: "partition-one-way",
		Doc: "Silently stops the traffic from one process to another; the reverse direction stays open. " +
			"A write may take effect though its response is late; watches catch up afterwards without a gap.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterFor},
		claims:     claimsLink,
		begin:      func(a action) (string, error) { return "", a.PartitionOneWay(a.From, a.To) },
		end:        func(a action) error { return a.HealLink(a.From, a.To) },
	}, {
		Name: "black-hole",
		Doc: "Drops what one process sends to another, and resets their connections at the end, as keepalives would. " +
			"A write may take effect though its response never comes; streams are resumed without a gap.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterFor},
		claims:     claimsLink,
		begin:      func(a action) (string, error) { return "", a.BlackHole(a.From, a.To) },
		end: func(a action) error {
			healed := a.HealLink(a.From, a.To)
			_, reset := a.Reset(a.From, a.To)
			return errors.Join(healed, reset)
		},
	}, {
		Name: "reset",
		Doc: "Resets all open connections between two processes. " +
			"Requests in flight may fail with an unknown outcome; etcd's watches are resumed without a gap or a duplicate.",
		Parameters: []Parameter{parameterFrom, parameterTo},
		begin: func(a action) (string, error) {
			connections, err := a.Reset(a.From, a.To)
			if err == nil && connections == 0 {
				err = fmt.Errorf("there was no connection between %s and %s", a.From, a.To)
			}
			return model.Plural(connections, "connection"), err
		},
	}, {
		Name: "slow-link",
		Doc: "Limits the bandwidth between two processes, in each direction. " +
			"Requests take longer, and senders that are too fast see backpressure; nothing is lost or reordered within a stream.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterRate, parameterFor},
		claims:     claim(func(f Fault) string { return "the rate of " + link(f.From, f.To) }),
		begin:      func(a action) (string, error) { return "", a.SetRate(a.From, a.To, a.Rate) },
		end:        func(a action) error { return a.SetRate(a.From, a.To, 0) },
	}}
}

// setLatency adds a delay between two processes, both ways.
func (a action) setLatency(one, other string, delay time.Duration) error {
	return errors.Join(a.SetLatency(one, other, delay), a.SetLatency(other, one, delay))
}
