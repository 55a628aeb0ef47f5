package workload

// loaders is how many clients create the initial objects.
const loaders = 4

// loader creates its share of the objects that exist from the beginning, one after
// another, as fast as the servers take them. It gives up when faults heal, and does not
// repeat what fails.
type loader struct{ writer }

func (l *loader) run(keys []objectKey) {
	if l.part != nil {
		l.takePart(l.working, func(step Step) {
			if step.Number <= len(keys) {
				l.create(l.anyServer(), keys[step.Number-1])
			}
		})
		return
	}
	for i, key := range keys {
		if !l.begin(l.working, i+1, 0) {
			return
		}
		l.create(l.anyServer(), key)
	}
}

// startLoaders starts the clients that create the initial objects, if there are any.
func (w *Workload) startLoaders() {
	keys := w.config.initial()
	for _, i := range w.config.present("loader", w.config.loaders()) {
		l := &loader{writer{client: w.newClient("loader", i)}}
		var share []objectKey
		for k := i; k < len(keys); k += loaders {
			share = append(share, keys[k])
		}
		w.start(&w.workers, l.name, func() { l.run(share) })
	}
}

// loaders returns how many clients create initial objects.
func (c Config) loaders() int { return min(loaders, c.Initial) }
