package workload

import (
	"math/rand/v2"

	"github.com/watchsim/watchsim/model"
)

// catalog draws the subjects of requests from a configuration: keys, objects, scopes
// and selectors.
type catalog struct{ config Config }

func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

// oneIn returns true once in n draws on average.
func oneIn(random *rand.Rand, n int) bool { return random.IntN(n) == 0 }

func (c catalog) key(random *rand.Rand) model.Key {
	return model.Key{Namespace: pick(random, c.config.Namespaces), Name: pick(random, c.config.Names)}
}

// object draws labels and a node for a new state, so that an object enters and leaves
// selectors as it changes.
func (c catalog) object(random *rand.Rand, key model.Key, value string) *model.Object {
	object := &model.Object{Namespace: key.Namespace, Name: key.Name, Value: value}
	for _, label := range c.config.Labels {
		if oneIn(random, 4) {
			continue
		}
		if object.Labels == nil {
			object.Labels = map[string]string{}
		}
		object.Labels[label.Key] = pick(random, label.Values)
	}
	if len(c.config.Nodes) > 0 && !oneIn(random, 4) {
		object.Node = pick(random, c.config.Nodes)
	}
	return object
}

// patch draws a label to set, in half of the cases.
func (c catalog) patch(random *rand.Rand) map[string]string {
	if len(c.config.Labels) == 0 || oneIn(random, 2) {
		return nil
	}
	label := pick(random, c.config.Labels)
	return map[string]string{label.Key: pick(random, label.Values)}
}

// scope draws all namespaces, a name in any of them, one namespace, or one object.
func (c catalog) scope(random *rand.Rand) model.Scope {
	switch random.IntN(16) {
	case 0, 1, 2, 3, 4, 5, 6:
		return model.Scope{}
	case 7:
		return model.Scope{Name: pick(random, c.config.Names)}
	case 8, 9:
		return model.Scope(c.key(random))
	default:
		return model.Scope{Namespace: pick(random, c.config.Namespaces)}
	}
}

// The values of Config.Selectors besides the usual mixture.
const (
	SelectNone   = "none"
	SelectLabels = "labels"
	SelectFields = "fields"
	SelectAll    = "all"
)

// selections holds the draw of selector that each of them replaces.
var selections = map[string]int{SelectNone: 0, SelectLabels: 5, SelectFields: 4, SelectAll: 7}

// selector draws no selector, a label, a node, or both.
func (c catalog) selector(random *rand.Rand) model.Selector {
	var selector model.Selector
	choice := random.IntN(8)
	if fixed, known := selections[c.config.Selectors]; known {
		choice = fixed
	}
	if choice >= 5 && len(c.config.Labels) > 0 {
		label := pick(random, c.config.Labels)
		selector.Labels = map[string]string{label.Key: pick(random, label.Values)}
	}
	if (choice == 4 || choice == 7) && len(c.config.Nodes) > 0 {
		selector.Node = pick(random, c.config.Nodes)
	}
	return selector
}
