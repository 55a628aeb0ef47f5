package workload

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// crowded is a configuration with every kind of client.
func crowded() Config {
	config := DefaultConfig()
	config.StalledWatchers, config.Flood = 2, 5
	return config
}

// notes executes a run over a store without faults and returns its history and the
// steps taken.
func notes(t *testing.T, seed uint64, config Config) (history model.History, parts []Part) {
	t.Helper()
	w, history := play(t, seed, config, nil)
	return history, w.Parts()
}

func TestAllPartsTogetherAreTheWholeRun(t *testing.T) {
	// Go's scheduler decides which client comes first at one instant, so a repeated run sometimes
	// differs. Two whole histories are not equal by chance.
	const attempts = 10
	for seed := range uint64(5) {
		same := false
		for range attempts {
			config := crowded()
			config.Flood = 0 // the pause after its last write belongs to no step
			whole, parts := notes(t, seed, config)
			require.Len(t, parts, len(config.Clients()), "everybody has a part")

			// Settings that only affect what a whole run draws must no longer matter.
			config.Parts, config.Operations, config.Bursts = parts, 0, 1
			again, partsAgain := notes(t, seed, config)
			if same = reflect.DeepEqual(whole, again) && reflect.DeepEqual(parts, partsAgain); same {
				break
			}
		}
		require.True(t, same, "seed %d", seed)
	}
}

// asked returns what a client requested, as far as it is drawn, by time of the call.
func asked(history model.History, client string) map[int64]string {
	requests := map[int64]string{}
	for _, op := range history.Operations {
		if op.Client == client && op.Continues == 0 {
			requests[op.Call] = op.Server + " " + op.Scope.Namespace + "/" + op.Scope.Name
		}
	}
	for _, stream := range history.Streams {
		if stream.Client == client {
			requests[stream.Call] = stream.Server + " " + stream.Scope.Namespace + "/" + stream.Scope.Name + " " + stream.Consumer
		}
	}
	return requests
}

func TestAStepAsksForTheSameWithoutTheOthers(t *testing.T) {
	same, compared := 0, 0
	for _, client := range []string{"reader-0", "writer-1", "watcher-2", "sleeper-0"} {
		config := crowded()
		config.Flood = 0
		whole, parts := notes(t, 3, config)
		own := parts[slices.IndexFunc(parts, func(p Part) bool { return p.Client == client })]
		for i := range own.Steps {
			config.Parts = []Part{{Client: client, Steps: own.Steps[i : i+1]}}
			alone, taken := notes(t, 3, config)
			require.Equal(t, config.Parts, taken)
			for at, request := range asked(alone, client) {
				if was, known := asked(whole, client)[at]; known {
					compared++
					if was == request {
						same++
					}
				}
			}
		}
	}
	require.Greater(t, compared, 60)
	// Some steps have other outcomes, because the client knows less.
	require.GreaterOrEqual(t, same*10, compared*8, "%d of %d", same, compared)
}

func TestTheFinalWriterLeavesOutSteps(t *testing.T) {
	config := crowded()
	whole, parts := notes(t, 1, config)
	final := parts[len(parts)-1]
	require.Equal(t, FinalWriter, final.Client)
	require.Len(t, final.Steps, config.Flood+len(config.Namespaces)+2)

	count := func(history model.History, kind model.Kind) (count int) {
		for _, op := range history.Operations {
			if op.Client == FinalWriter && op.Kind == kind {
				count++
			}
		}
		return count
	}
	require.Equal(t, 2, count(whole, model.List), "one from each server")
	final.Steps = final.Steps[len(final.Steps)-1:]
	config.Parts = []Part{final}
	reduced, _ := notes(t, 1, config)
	require.Len(t, reduced.Operations, 1)
	require.Equal(t, "apiserver-1", reduced.Operations[0].Server)
	require.Equal(t, 1, count(reduced, model.List))

	config.Parts = []Part{}
	nobody, _ := notes(t, 1, config)
	require.Empty(t, nobody.Operations)
	require.Empty(t, nobody.Streams)
}

func TestConfigurationsThatCannotBeAreNamed(t *testing.T) {
	parts := func(parts ...Part) func(*Config) { return func(c *Config) { c.Parts = parts } }
	step := Step{Number: 1}
	for says, damage := range map[string]func(*Config){
		"must exceed the quiet phase":         func(c *Config) { c.Quiet = c.Duration },
		"up to 45s, when faults have healed":  func(c *Config) { c.Writing = c.Duration },
		"nobody is to write; found 3":         func(c *Config) { c.Writing, c.Flood = time.Second, 3 },
		"found -1":                            func(c *Config) { c.Operations = -1 },
		"found -2":                            func(c *Config) { c.Watchers = -2 },
		"at least one namespace and one name": func(c *Config) { c.Names = nil },
		"a key and values":                    func(c *Config) { c.Labels = []Label{{Key: "app"}} },
		"operation timeout":                   func(c *Config) { c.OperationTimeout = 0 },
		`found "gardener"`:                    parts(Part{Client: "gardener", Steps: []Step{step}}),
		"one part of reader-0":                parts(Part{Client: "reader-0", Steps: []Step{step}}, Part{Client: "reader-0", Steps: []Step{step}}),
		"found none; leave":                   parts(Part{Client: "reader-0"}),
		"step 1 after step 1":                 parts(Part{Client: "reader-0", Steps: []Step{step, step}}),
		"a number above 0":                    parts(Part{Client: "reader-0", Steps: []Step{{Number: 0}}}),
		"0 to 16777216 draws":                 parts(Part{Client: "reader-0", Steps: []Step{{Number: 1, Draws: 1 << 30}}}),
		"a time of 0 or more":                 parts(Part{Client: "reader-0", Steps: []Step{{Number: 1, At: -1}}}),
	} {
		config := DefaultConfig()
		require.NoError(t, config.Validate())
		damage(&config)
		require.ErrorContains(t, config.Validate(), says)
	}
	_, err := New(DefaultConfig(), Environment{})
	require.ErrorContains(t, err, "at least one server")
	_, err = New(DefaultConfig(), Environment{Servers: []string{"apiserver-0"}})
	require.ErrorContains(t, err, "informers")
}
