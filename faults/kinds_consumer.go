package faults

import "context"

func consumerKinds() []Kind {
	return []Kind{{
		Name: "slow-consumer",
		Doc: "Makes a client take its time over each event. " +
			"Its own streams may end because they fell behind; no other client waits for it.",
		Parameters: []Parameter{parameterClient, parameterDelay, parameterFor},
		holds:      holdsPace,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.SlowConsumer(fault.Client, fault.Delay)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error { return surface.HealConsumer(fault.Client) },
	}, {
		Name: "stalled-consumer",
		Doc: "Makes a client stop reading its streams. " +
			"Its own streams may end because they fell behind; no other client waits for it.",
		Parameters: []Parameter{parameterClient, parameterFor},
		holds:      holdsPace,
		begin: func(_ context.Context, surface Surface, fault Fault) (string, error) {
			return "", surface.StallConsumer(fault.Client)
		},
		end: func(_ context.Context, surface Surface, fault Fault) error { return surface.HealConsumer(fault.Client) },
	}}
}
