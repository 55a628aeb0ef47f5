package faults

import (
	"context"
	"errors"
	"fmt"
)

func networkKinds() []Kind {
	return []Kind{{
		Name: "latency",
		Doc: "Adds a delay to everything that two processes send each other. " +
			"Things take longer; nothing is lost or reordered within a stream.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterDelay, parameterFor},
		holds:      holdsLatency,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", errors.Join(
				surface.SetLatency(fault.From, fault.To, fault.Delay), surface.SetLatency(fault.To, fault.From, fault.Delay))
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return errors.Join(surface.SetLatency(fault.From, fault.To, 0), surface.SetLatency(fault.To, fault.From, 0))
		},
	}, {
		Name: "partition",
		Doc: "Lets nothing pass between two processes, in silence; what they send arrives when it heals. " +
			"Reads that must be fresh wait or fail, and watches catch up afterwards without a gap.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterFor},
		holds:      holdsLink,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.Partition(fault.From, fault.To)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.HealLink(fault.From, fault.To)
		},
	}, {
		Name: "partition-one-way",
		Doc: "Lets nothing pass from one process to another, in silence; the way back stays open. " +
			"A write may take effect though its answer is late; watches catch up afterwards without a gap.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterFor},
		holds:      holdsLink,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.PartitionOneWay(fault.From, fault.To)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.HealLink(fault.From, fault.To)
		},
	}, {
		Name: "black-hole",
		Doc: "Loses what goes from one process to another, and resets their connections at the end, as keepalives would. " +
			"A write may take effect though its answer never comes; streams are resumed without a gap.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterFor},
		holds:      holdsLink,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.BlackHole(fault.From, fault.To)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			healed := surface.HealLink(fault.From, fault.To)
			_, reset := surface.Reset(fault.From, fault.To)
			return errors.Join(healed, reset)
		},
	}, {
		Name: "reset",
		Doc: "Breaks all open connections between two processes. " +
			"Requests under way may fail as unknown; etcd's watches are resumed without a gap or a repetition.",
		Parameters: []Parameter{parameterFrom, parameterTo},
		holds:      holdsBothEnds,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			connections, err := surface.Reset(fault.From, fault.To)
			if err == nil && connections == 0 {
				err = fmt.Errorf("there was no connection between %s and %s", fault.From, fault.To)
			}
			return fmt.Sprintf("%d connections", connections), err
		},
	}, {
		Name: "slow-link",
		Doc: "Lets only so many bytes a second pass between two processes, each way. " +
			"Things take longer, and what is sent too fast piles up; nothing is lost or reordered within a stream.",
		Parameters: []Parameter{parameterFrom, parameterTo, parameterRate, parameterFor},
		holds:      holdsRate,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.SetRate(fault.From, fault.To, fault.Rate)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error {
			return surface.SetRate(fault.From, fault.To, 0)
		},
	}}
}
