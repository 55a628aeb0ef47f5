package sim

import "github.com/watchsim/watchsim/sim/internal/kernel"

// Redraw has everything that is drawn from here on follow another seed, in a pause: the
// schedule, which is as unkind as is said here, what the code draws, and the random
// streams, those in use as well. What was drawn before stays. A run that follows a tape
// takes its decisions from it all the same.
func (w *World) Redraw(seed uint64, schedule Schedule) {
	config := w.config
	config.Schedule = schedule
	config = config.withDefaults()
	params := &kernel.Params{
		YieldMean:  config.Schedule.YieldEvery,
		StallOneIn: config.Schedule.StallOneIn,
		StallMin:   int64(config.Schedule.StallMin),
		StallMax:   int64(config.Schedule.StallMax),
		FocusOneIn: uint64(config.Schedule.FocusOneIn),
		FocusSeed:  Stream(seed, "focus").Uint64(),
	}
	FromSeed(seed).load(params)
	// A goroutine may still be held up by what was drawn before.
	w.config.Schedule.StallMax = max(w.config.Schedule.StallMax, config.Schedule.StallMax)
	kernel.Redraw(params)
	w.streamSeed = seed
	for _, s := range w.streams {
		s.source.Seed(streamSeeds(seed, s.name))
	}
}
