package cacher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

func TestConfigIsChecked(t *testing.T) {
	good := func() Config {
		config := podConfig(newFakeStore())
		config.Codec = podCodec
		return config
	}
	completed, err := good().complete()
	require.NoError(t, err)
	require.Equal(t, DefaultEventsHistoryWindow, completed.EventsHistoryWindow)
	require.Equal(t, DefaultMaxEvents, completed.MaxEvents)

	for want, spoil := range map[string]func(*Config){
		"found nil":                     func(c *Config) { c.Storage = nil },
		`found ""`:                      func(c *Config) { c.ResourcePrefix = "" },
		`found "/"`:                     func(c *Config) { c.ResourcePrefix = "/" },
		`found "pods"`:                  func(c *Config) { c.ResourcePrefix = "pods" },
		"at most one of IndexerFuncs":   func(c *Config) { c.IndexerFuncs = storage.IndexerFuncs{"a": nil, "b": nil} },
		"at least BookmarkPeriod":       func(c *Config) { c.EventsHistoryWindow = time.Second },
		"MinEvents of at least 1":       func(c *Config) { c.MinEvents = -1 },
		"found 10 and 5":                func(c *Config) { c.MinEvents, c.MaxEvents = 10, 5 },
		"not to be negative":            func(c *Config) { c.MaxWatchers = -1 },
		"expected ObjectSize to be set": func(c *Config) { c.MaxEventBytes = 1 },
		"expected Codec to know":        func(c *Config) { c.NewFunc = func() runtime.Object { return &corev1.Pod{} } },
	} {
		config := good()
		spoil(&config)
		_, err := New(config)
		require.ErrorContains(t, err, want)
	}
}

func TestBelow(t *testing.T) {
	for _, row := range []struct {
		key, prefix string
		want        bool
	}{
		{"/pods/a/b", "/pods", true},
		{"/pods/a/b", "/pods/", true},
		{"/pods/a/b", "/pods/a/b", true},
		{"/pods/a/b", "/pod", false},
		{"/pods/ab", "/pods/a", false},
		{"/pods/a", "/pods/a/", false},
		{"/pods", "/pods/", false},
	} {
		require.Equal(t, row.want, below(row.key, row.prefix), "%s below %s", row.key, row.prefix)
	}
}
