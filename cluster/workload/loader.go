package workload

import (
	"fmt"
	"time"

	"github.com/watchsim/watchsim/model"
)

// loaders is how many clients create the initial objects.
const loaders = 4

// loader creates its share of the initial objects, one after another, as fast as the servers accept
// them. It gives up when faults heal, and does not retry failures.
type loader struct{ writer }

func (l *loader) run(keys []model.Key) {
	l.follow(l.working, make([]time.Duration, len(keys)), func(i int) int {
		if i < len(keys) {
			l.create(l.anyServer(), keys[i])
		}
		return 1
	})
}

// startLoaders starts the clients that create the initial objects, if there are any.
func (w *Workload) startLoaders() {
	keys := w.config.initial()
	for _, i := range w.config.present("loader", w.config.loaders()) {
		l := &loader{writer{client: w.newClient("loader", i)}}
		var share []model.Key
		for k := i; k < len(keys); k += loaders {
			share = append(share, keys[k])
		}
		w.start(&w.workers, l.name, func() { l.run(share) })
	}
}

// loaders returns how many clients create initial objects.
func (c Config) loaders() int { return min(loaders, c.Initial) }

// The sets of names for Config.Rename besides the usual one.
const (
	// NamesPrefixes are names and namespaces that are prefixes of each other, or sort on
	// either side of the slash that follows them in a key.
	NamesPrefixes = "prefixes"
	// NamesMany are more objects than most runs touch.
	NamesMany = "many"
	// NamesSingle is one object, for which all clients contend.
	NamesSingle = "single"
)

// manyNames is how many names each namespace has with NamesMany.
const manyNames = 200

// Rename replaces the names of objects and namespaces by another set; "" keeps them.
func (c *Config) Rename(set string) {
	switch set {
	case NamesPrefixes:
		c.Namespaces = []string{"a", "a-b", "ab"}
		c.Names = []string{"a", "a-b", "a.b", "ab", "a0"}
	case NamesMany:
		c.Names = nil
		for i := range manyNames {
			c.Names = append(c.Names, fmt.Sprintf("n%03d", i))
		}
	case NamesSingle:
		c.Namespaces, c.Names = c.Namespaces[:1], c.Names[:1]
	}
}

// initial returns the keys of the initial objects: those that writers use, in order, and more if
// they are not enough.
func (c Config) initial() []model.Key {
	var keys []model.Key
	for i := 0; len(keys) < c.Initial; i++ {
		name := fmt.Sprintf("extra-%04d", i-len(c.Names))
		if i < len(c.Names) {
			name = c.Names[i]
		}
		for _, namespace := range c.Namespaces {
			keys = append(keys, model.Key{Namespace: namespace, Name: name})
		}
	}
	return keys[:c.Initial]
}
