package cacher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	upstream "k8s.io/apiserver/pkg/storage/cacher"
)

// TestConfigIsChecked: an invalid configuration is rejected with one sentence, as by Kubernetes'
// cache, except where its caller must fill in a default.
func TestConfigIsChecked(t *testing.T) {
	const onlyOurs, both = false, true
	for name, row := range map[string]struct {
		spoil      func(*Config)
		want       string // of the error; empty if there is none
		kubernetes bool   // whether Kubernetes' cache refuses it
	}{
		"nothing wrong":                {func(*Config) {}, "", false},
		"a nil indexer":                {func(c *Config) { c.IndexerFuncs = storage.IndexerFuncs{"a": nil} }, "", false},
		"no history":                   {func(c *Config) { c.EventsHistoryWindow = 0 }, "", true},
		"no prefix":                    {func(c *Config) { c.ResourcePrefix = "" }, `found ""`, both},
		"the root":                     {func(c *Config) { c.ResourcePrefix = "/" }, `found "/"`, both},
		"a relative prefix":            {func(c *Config) { c.ResourcePrefix = "pods" }, `found "pods"`, both},
		"two indexers":                 {func(c *Config) { c.IndexerFuncs = storage.IndexerFuncs{"a": nil, "b": nil} }, "at most one of IndexerFuncs", both},
		"a history of seconds":         {func(c *Config) { c.EventsHistoryWindow = time.Second }, "at least BookmarkPeriod", both},
		"a codec of another type":      {func(c *Config) { c.NewFunc = func() runtime.Object { return &corev1.Pod{} } }, "expected Codec to know", both},
		"no storage":                   {func(c *Config) { c.Storage = nil }, "found nil", onlyOurs},
		"a negative number of events":  {func(c *Config) { c.MinEvents = -1 }, "MinEvents of at least 1", onlyOurs},
		"a maximum below the minimum":  {func(c *Config) { c.MinEvents, c.MaxEvents = 10, 5 }, "found 10 and 5", onlyOurs},
		"a negative number of watches": {func(c *Config) { c.MaxWatchers = -1 }, "not to be negative", onlyOurs},
		"bytes of unknown objects":     {func(c *Config) { c.MaxEventBytes = 1 }, "expected ObjectSize to be set", onlyOurs},
	} {
		config := podConfig(newFakeStore())
		config.Codec, config.EventsHistoryWindow = podCodec, DefaultEventsHistoryWindow
		row.spoil(&config)
		ours, err := New(config)
		if row.want == "" {
			require.NoError(t, err, name)
			require.Equal(t, DefaultMaxEvents, ours.config.MaxEvents)
			require.Equal(t, DefaultEventsHistoryWindow, ours.config.EventsHistoryWindow)
			ours.Stop()
		} else {
			require.ErrorContains(t, err, row.want, name)
		}
		if row.want != "" && row.kubernetes == onlyOurs {
			continue // a setting that Kubernetes' cache has not, or does not check
		}
		theirs, err := upstream.NewCacherFromConfig(kubernetesConfig(config))
		require.Equal(t, row.kubernetes, err != nil, "%s: %v", name, err)
		if err == nil {
			theirs.Stop()
		}
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
