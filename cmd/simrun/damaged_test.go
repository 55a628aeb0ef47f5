package main

import (
	"context"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/target"
)

// addDamagedTargets adds the first target with something wrong about its
// servers. Warming up, which has three members, is spared.
func addDamagedTargets() {
	for _, damaged := range []damagedTarget{
		{name: "forgetful", wrap: func(server target.Server) target.Server { return forgetful{server} }},
		{name: "panicking", start: func() { panic("the panicking target panics") }},
		{name: "undetermined", start: func() {
			started++
			time.Sleep(time.Duration(started) * time.Millisecond)
		}},
	} {
		entry := targets[0]
		sound := entry.make
		entry.name, entry.summary = damaged.name, "for tests"
		entry.make = func() target.Target {
			made := damaged
			made.Target = sound()
			return made
		}
		targets = append(targets, entry)
	}
}

// started counts the servers of all runs of this process, which no run may know.
var started int

// damagedTarget is another target but for one thing.
type damagedTarget struct {
	target.Target
	name  string
	start func()
	wrap  func(target.Server) target.Server
}

func (d damagedTarget) Start(config target.ServerConfig) (target.Server, error) {
	server, err := d.Target.Start(config)
	if err != nil || len(config.Endpoints) > 1 {
		return server, err
	}
	if d.start != nil {
		d.start()
	}
	if d.wrap != nil {
		server = d.wrap(server)
	}
	return server, nil
}

// forgetful loses events of its watches.
type forgetful struct{ target.Server }

func (f forgetful) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	watch := f.Server.Watch(ctx, stream)
	if watch == nil {
		return nil
	}
	return forgetfulWatch{watch}
}

type forgetfulWatch struct{ target.Watch }

func (f forgetfulWatch) Next() (model.Event, model.CloseReason, bool) {
	for {
		event, reason, ok := f.Watch.Next()
		if !ok || event.Object == nil || event.RV%7 != 0 {
			return event, reason, ok
		}
	}
}
