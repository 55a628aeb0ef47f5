package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidateNamesWhatIsWrong(t *testing.T) {
	for name, row := range map[string]struct {
		damage func(*Config)
		want   string
	}{
		"quiet":     {func(c *Config) { c.Quiet = c.Duration }, "must exceed the quiet phase"},
		"writing":   {func(c *Config) { c.Writing = c.Duration }, "up to 45s, when faults have healed"},
		"flood":     {func(c *Config) { c.Writing, c.Flood = time.Second, 3 }, "nobody is to write; found 3"},
		"operation": {func(c *Config) { c.Operations = -1 }, "found -1"},
		"clients":   {func(c *Config) { c.Watchers = -2 }, "found -2"},
		"names":     {func(c *Config) { c.Names = nil }, "at least one namespace and one name"},
		"labels":    {func(c *Config) { c.Labels = []Label{{Key: "app"}} }, "a key and values"},
		"timeout":   {func(c *Config) { c.OperationTimeout = 0 }, "operation timeout"},
	} {
		config := DefaultConfig()
		require.NoError(t, config.Validate())
		row.damage(&config)
		require.ErrorContains(t, config.Validate(), row.want, name)
	}
	_, err := New(DefaultConfig(), Environment{})
	require.ErrorContains(t, err, "at least one server")
	_, err = New(DefaultConfig(), Environment{Servers: []string{"apiserver-0"}})
	require.ErrorContains(t, err, "informers")
}
