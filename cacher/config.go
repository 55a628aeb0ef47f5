package cacher

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Defaults of the fields of Config that have one.
const (
	// DefaultEventsHistoryWindow outlasts DefaultBookmarkPeriod, so that a client can resume from
	// its last bookmark.
	DefaultEventsHistoryWindow = DefaultBookmarkPeriod + 15*time.Second
	DefaultBookmarkPeriod      = time.Minute
	DefaultMinEvents           = 100
	DefaultMaxEvents           = 100 * 1024
)

// Config configures a cache. Its first fields are those of Config in
// k8s.io/apiserver/pkg/storage/cacher.
type Config struct {
	// Storage is the storage below the cache, normally the etcd3 store.
	Storage storage.Interface
	// Versioner reads and writes resourceVersions.
	Versioner storage.Versioner
	// GroupResource is the cached resource, for errors, logs and metrics.
	GroupResource schema.GroupResource
	// EventsHistoryWindow is the minimum time for which events are kept, unless MaxEvents or
	// MaxEventBytes is reached; DefaultEventsHistoryWindow if 0.
	EventsHistoryWindow time.Duration
	// ResourcePrefix is the prefix of the keys of all objects. It begins with a slash.
	ResourcePrefix string
	// KeyFunc returns the key of an object.
	KeyFunc func(runtime.Object) (string, error)
	// GetAttrsFunc returns what label and field selectors match.
	GetAttrsFunc func(runtime.Object) (labels.Set, fields.Set, error)
	// IndexerFuncs names at most one field by whose value watches are grouped: an event does not
	// even wake a watch of another value.
	IndexerFuncs storage.IndexerFuncs
	// Indexers speed up lists; their names are those that
	// storage.SelectionPredicate.MatcherIndex returns.
	Indexers *cache.Indexers
	// NewFunc and NewListFunc return an empty object, and an empty list of them.
	NewFunc     func() runtime.Object
	NewListFunc func() runtime.Object
	// Codec is the codec of Storage. It is only used to check that it knows the objects.
	Codec runtime.Codec
	// Clock defaults to the real one.
	Clock clock.WithTicker

	// MinEvents is how many events are kept however old they are, MaxEvents how many are kept at
	// most. If 0, they are DefaultMinEvents, and DefaultMaxEvents for each started
	// DefaultEventsHistoryWindow.
	MinEvents, MaxEvents int
	// MaxEventBytes bounds the sum of ObjectSize over the kept events' objects, in bytes. 0 is no
	// bound.
	MaxEventBytes int64
	// ObjectSize estimates the size of an object, in bytes. It is required if MaxEventBytes is set.
	ObjectSize func(runtime.Object) int64
	// SlowConsumerBudget is how far a watch may lag: how soon after the cache received an event the
	// consumer must have room for it. A watch that lags more is ended, and its client can resume
	// from the last event it got. Time counts from the end of the watch's initial state at the
	// earliest. With 0 only the window ends a slow consumer's watch.
	SlowConsumerBudget time.Duration
	// MaxWatchers is the largest number of open watches; more are rejected with 429 Too Many
	// Requests. 0 is no limit.
	MaxWatchers int
	// BookmarkPeriod is the interval of bookmarks for an idle watch that wants them;
	// DefaultBookmarkPeriod if 0.
	BookmarkPeriod time.Duration
}

// complete fills in the defaults and validates the rest.
func (c Config) complete() (Config, error) {
	c.EventsHistoryWindow = cmp.Or(c.EventsHistoryWindow, DefaultEventsHistoryWindow)
	c.BookmarkPeriod = cmp.Or(c.BookmarkPeriod, DefaultBookmarkPeriod)
	c.MinEvents = cmp.Or(c.MinEvents, DefaultMinEvents)
	if c.MaxEvents == 0 {
		// A longer history needs more room.
		histories := (c.EventsHistoryWindow + DefaultEventsHistoryWindow - 1) / DefaultEventsHistoryWindow
		c.MaxEvents = max(DefaultMaxEvents*max(1, int(histories)), c.MinEvents)
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c, c.check()
}

func (c *Config) check() error {
	switch {
	case c.Storage == nil, c.Versioner == nil, c.KeyFunc == nil, c.GetAttrsFunc == nil, c.NewFunc == nil, c.NewListFunc == nil:
		return errors.New("expected Storage, Versioner, KeyFunc, GetAttrsFunc, NewFunc and NewListFunc to be set, found nil among them")
	case !strings.HasPrefix(c.ResourcePrefix, "/") || c.ResourcePrefix == "/":
		return fmt.Errorf("expected ResourcePrefix to be a path such as /pods, found %q", c.ResourcePrefix)
	case len(c.IndexerFuncs) > 1:
		return fmt.Errorf("expected at most one of IndexerFuncs, found %d", len(c.IndexerFuncs))
	case c.EventsHistoryWindow < c.BookmarkPeriod:
		return fmt.Errorf("expected EventsHistoryWindow to be at least BookmarkPeriod, %v, found %v: a client could not go on from its last bookmark", c.BookmarkPeriod, c.EventsHistoryWindow)
	case c.MinEvents < 1 || c.MaxEvents < c.MinEvents:
		return fmt.Errorf("expected MinEvents of at least 1 and MaxEvents of at least that, found %d and %d", c.MinEvents, c.MaxEvents)
	case c.MaxEventBytes < 0 || c.MaxWatchers < 0 || c.SlowConsumerBudget < 0:
		return fmt.Errorf("expected MaxEventBytes, MaxWatchers and SlowConsumerBudget not to be negative, found %d, %d and %v", c.MaxEventBytes, c.MaxWatchers, c.SlowConsumerBudget)
	case c.MaxEventBytes > 0 && c.ObjectSize == nil:
		return errors.New("expected ObjectSize to be set as MaxEventBytes is, found nil")
	}
	if c.Codec != nil {
		if err := runtime.CheckCodec(c.Codec, c.NewFunc()); err != nil {
			return fmt.Errorf("expected Codec to know what NewFunc returns: %w", err)
		}
	}
	return nil
}
