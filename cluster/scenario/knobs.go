package scenario

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
)

// Setup configures a run's cluster and clients beyond the fields of [Spec] that scenarios set. A
// zero value is the usual one.
type Setup struct {
	// Etcd and Server configure all members and all API servers.
	Etcd   etcd.Tuning   `json:"etcd,omitzero"`
	Server target.Tuning `json:"server,omitzero"`
	// BookmarkPeriod is that of target.ServerConfig, and ProgressNotify that of cluster.Config.
	BookmarkPeriod time.Duration `json:"bookmarkPeriod,omitempty"`
	ProgressNotify time.Duration `json:"progressNotify,omitempty"`
	// ObjectBytes is the padding of each stored object.
	ObjectBytes int `json:"objectBytes,omitempty"`

	// Writers, Readers, Reflectors and Informers are numbers of clients.
	Writers    int `json:"writers,omitempty"`
	Readers    int `json:"readers,omitempty"`
	Reflectors int `json:"reflectors,omitempty"`
	Informers  int `json:"informers,omitempty"`
	// Names selects the names of objects, Mix what writers do, and Initial is how many objects are
	// created at once at the beginning.
	Names   string `json:"names,omitempty"`
	Mix     string `json:"mix,omitempty"`
	Initial int    `json:"initial,omitempty"`
	// Timeout is how long clients wait for a response, and WatchTimeout the longest timeout that
	// they request for a watch; 0 for none.
	Timeout      time.Duration `json:"timeout,omitempty"`
	WatchTimeout time.Duration `json:"watchTimeout,omitempty"`
	// Roaming makes informers change servers after failures.
	Roaming bool `json:"roaming,omitempty"`
	// Remember is how many resourceVersions a client remembers, and PageLimit the largest
	// limit of a list.
	Remember  int `json:"remember,omitempty"`
	PageLimit int `json:"pageLimit,omitempty"`
	// YieldEvery, StallOneIn and FocusOneIn are those of sim.Schedule; 0 lets the seed decide.
	YieldEvery int `json:"yieldEvery,omitempty"`
	StallOneIn int `json:"stallOneIn,omitempty"`
	FocusOneIn int `json:"focusOneIn,omitempty"`
	// Steady keeps the seed from stalling goroutines, so that slow and refused requests are judged
	// from the beginning: see model.History.Steady.
	Steady bool `json:"steady,omitempty"`
	// Selectors is what lists and watches select by, and HandlerDelay how long an informer's
	// handlers take for each notification.
	Selectors    string        `json:"selectors,omitempty"`
	HandlerDelay time.Duration `json:"handlerDelay,omitempty"`
	// Quota is etcd's space for clients' writes, in percent of the most that these take; 0 is
	// enough.
	Quota int `json:"quota,omitempty"`
	// Pattern arranges the faults of a drawn plan; see faults.Pattern.
	Pattern string `json:"pattern,omitempty"`
}

// knobs lists the dimensions in which runs of the scenario any differ. The values are
// chosen around the limits in etcd and Kubernetes that they can exceed.
var knobs = []Knob{
	costly(number("members", "number of etcd members", func(s *Spec) *int { return &s.Members }, 1, MaxMembers)),
	number("servers", "number of API servers", func(s *Spec) *int { return &s.Servers }, 1, 2, 3),
	flag("cold", "boot the cluster under the run's own schedule, with settings of its own", func(s *Spec) *bool { return &s.Cold }),

	duration("duration", "simulated length of the run", func(s *Spec) *time.Duration { return &s.Duration },
		time.Minute, 30*time.Second, 30*time.Second, 40*time.Second, 190*time.Second),
	duration("quiet", "length of the quiet phase at its end; 0s is 15s", func(s *Spec) *time.Duration { return &s.Quiet }, 0, 12*time.Second, 25*time.Second, 110*time.Second),
	duration("writing", "how long clients write; 0s is until faults have healed", func(s *Spec) *time.Duration { return &s.Writing },
		0, 8*time.Second, 20*time.Second),
	number("operations", "number of requests of writers and readers", func(s *Spec) *int { return &s.Operations },
		200, 50, 50, 50, 100, 100, 100, 400, 400, 800, 3000),
	number("writers", "number of clients that write; 0 is 4", func(s *Spec) *int { return &s.Setup.Writers }, 0, 1, 2, 10),
	number("readers", "number of clients that get and list; 0 is 2", func(s *Spec) *int { return &s.Setup.Readers }, 0, 1, 6),
	number("reflectors", "number of clients that list and watch; 0 is 2", func(s *Spec) *int { return &s.Setup.Reflectors }, 0, 1, 5),
	number("watchers", "number of clients that open one watch after another; 0 is 3", func(s *Spec) *int { return &s.Watchers }, 0, 1, 8, 8, 36),
	number("informers", "number of client-go informers; 0 is 1", func(s *Spec) *int { return &s.Setup.Informers }, 0, 2, 4),
	flag("roaming", "informers turn to another server after a failure, as behind a load balancer", func(s *Spec) *bool { return &s.Setup.Roaming }),
	number("stalled-watchers", "number of clients that stop reading their watches", func(s *Spec) *int { return &s.StalledWatchers }, 0, 1, 4, 8),
	number("flood", "number of writes after faults have healed", func(s *Spec) *int { return &s.Flood }, 0, 40, 40, 200),
	duration("neighbour", "interval of writes to another resource; 0s is none", func(s *Spec) *time.Duration { return &s.Neighbour },
		0, 500*time.Millisecond, 7*time.Second),
	word("names", "names of objects: few, prefixes of each other, many, or a single object", func(s *Spec) *string { return &s.Setup.Names },
		workload.NamesPrefixes, workload.NamesMany, workload.NamesSingle),
	word("mix", "what writers do: of everything, mostly creations and deletions, updates alone, or what controllers do", func(s *Spec) *string { return &s.Setup.Mix },
		workload.MixChurn, workload.MixUpdates, workload.MixControllers),
	number("initial", "number of objects that are created at the beginning", func(s *Spec) *int { return &s.Setup.Initial }, 0, 20, 20, 120, 120, 600),
	duration("timeout", "how long clients wait for a response; 0s is 5s", func(s *Spec) *time.Duration { return &s.Setup.Timeout }, 0, time.Second, 20*time.Second),
	duration("watch-timeout", "the longest timeout that clients request for a watch; 0s is none", func(s *Spec) *time.Duration { return &s.Setup.WatchTimeout },
		0, 6*time.Second, 25*time.Second),
	number("remember", "number of resourceVersions that a client remembers; 0 is 32", func(s *Spec) *int { return &s.Setup.Remember }, 0, 3, 1000),
	number("page-limit", "the largest limit of a list; 0 is 5", func(s *Spec) *int { return &s.Setup.PageLimit }, 0, 1, 50, 600),
	number("event-bytes", "size of a watch event on the wire; 0 lets the seed decide", func(s *Spec) *int { return &s.EventBytes }, 0, 160<<10),

	number("yield-every", "synchronisation points from one yield to the next; 0 lets the seed decide", func(s *Spec) *int { return &s.Setup.YieldEvery }, 0, 7, 200, 1000),
	number("stall-one-in", "yields from one stall to the next; 0 lets the seed decide", func(s *Spec) *int { return &s.Setup.StallOneIn }, 0, 5, 200),
	number("focus-one-in", "one place in so many is where goroutines stall often; 0 lets the seed decide", func(s *Spec) *int { return &s.Setup.FocusOneIn }, 0, 15, 40, 150),
	flag("steady", "goroutines stall only as stall-one-in and focus-one-in say", func(s *Spec) *bool { return &s.Setup.Steady }),

	{
		Name: "kinds", Summary: "kinds of fault: all, none, every, or a list such as compaction+reset; one to three of them for a quarter of the seeds",
		Usual: "all", Others: []string{"none", "every"},
		other: drawKinds,
		get:   kindsOf, set: setKinds,
	},
	number("max-count", "the largest number of faults of a kind; 0 is 3", func(s *Spec) *int { return &s.MaxCount }, 0, 1, 6, 14),
	word("pattern", "arrangement of faults: independent, repeated, rotating over processes, one right after another, or servers that lag while others fail",
		func(s *Spec) *string { return &s.Setup.Pattern }, faults.Patterns()...),

	costly(boots(number("object-bytes", "padding of each stored object", func(s *Spec) *int { return &s.Setup.ObjectBytes }, 0, 2<<10, 2<<10, 20<<10, 100<<10))),
	boots(number("window-events", "events in the window of our cache; 0 leaves it to the cache", func(s *Spec) *int { return &s.WindowEvents }, 0, 8, 40)),
	boots(duration("history-window", "how long the cache keeps events at least; 0s is 75s", func(s *Spec) *time.Duration { return &s.Setup.Server.HistoryWindow },
		0, 10*time.Minute)),
	boots(flag("in-place", "update functions change the object that the storage gives them", func(s *Spec) *bool { return &s.Setup.Server.InPlace })),
	boots(duration("compact-interval", "interval of the API servers' compactions; 0s is 5m", func(s *Spec) *time.Duration { return &s.Setup.Server.CompactInterval },
		0, 3*time.Second, 10*time.Second)),
	boots(duration("bookmark-period", "interval of bookmarks of our cache; 0s is 1m", func(s *Spec) *time.Duration { return &s.Setup.BookmarkPeriod },
		0, 3*time.Second, 15*time.Second)),
	boots(duration("progress-notify", "interval of etcd's progress notifications; 0s is 5s", func(s *Spec) *time.Duration { return &s.Setup.ProgressNotify },
		0, 300*time.Millisecond, 20*time.Second)),
	boots(duration("tick", "etcd's heartbeat interval; elections take ten; 0s is 100ms", func(s *Spec) *time.Duration { return &s.Setup.Etcd.Tick },
		0, 20*time.Millisecond, 300*time.Millisecond)),
	boots(number("snapshot-entries", "log entries between two snapshots of etcd; 0 is never", func(s *Spec) *int { return &s.Setup.Etcd.SnapshotEntries }, 0, 20, 100)),
	boots(number("catch-up-entries", "log entries that etcd keeps after a snapshot; 0 is all", func(s *Spec) *int { return &s.Setup.Etcd.CatchUpEntries }, 0, 1, 30)),
	boots(number("compaction-batch", "revisions that etcd removes at a time; 0 is 1000", func(s *Spec) *int { return &s.Setup.Etcd.CompactionBatch }, 0, 1, 8)),
	boots(number("watch-batch", "revisions that etcd sends at a time to a watch that is behind; 0 is 1000", func(s *Spec) *int { return &s.Setup.Etcd.WatchBatch }, 0, 20, 100)),
	boots(number("watch-buffer", "responses that wait on a stream of etcd's watches; 0 is 128", func(s *Spec) *int { return &s.Setup.Etcd.WatchBuffer }, 0, 1, 4)),
	boots(number("watches-per-sync", "watches behind that etcd catches up at a time; 0 is 512", func(s *Spec) *int { return &s.Setup.Etcd.WatchesPerSync }, 0, 1, 3)),
	boots(duration("batch-interval", "how long etcd's database batches writes; 0s is 1s", func(s *Spec) *time.Duration { return &s.Setup.Etcd.BatchInterval },
		0, 5*time.Millisecond, 100*time.Millisecond)),
	boots(number("batch-limit", "writes that etcd's database batches; 0 is 10000", func(s *Spec) *int { return &s.Setup.Etcd.BatchLimit }, 0, 1, 5)),
	boots(Knob{
		Name: "gates", Summary: "feature gates of the API servers and of client-go, such as WatchList=false+AtomicFIFO=false; none is the release's defaults",
		Usual: "none", Others: gates, other: drawGates,
		get: func(s *Spec) string { return textOf(s.Setup.Server.Gates) },
		set: func(s *Spec, text string) error { s.Setup.Server.Gates = listOf(text); return nil },
	}),
	word("selectors", "what lists and watches select by: some of everything, none, labels, fields, or all of them", func(s *Spec) *string { return &s.Setup.Selectors },
		workload.SelectNone, workload.SelectLabels, workload.SelectFields, workload.SelectAll),
	duration("handler-delay", "how long the handlers of informers take at each notification", func(s *Spec) *time.Duration { return &s.Setup.HandlerDelay },
		0, 2*time.Millisecond, 10*time.Millisecond),
	boots(flag("in-validation", "the preconditions of deletions are checked by their validation", func(s *Spec) *bool { return &s.Setup.Server.InValidation })),
	boots(word("encryption", "encryption at rest: none, with one key, or with another key after each restart of a server", func(s *Spec) *string { return &s.Setup.Server.Encryption },
		target.EncryptionAES, target.EncryptionRotating)),
	boots(number("quota", "etcd's quota, in percent of what all writes take; 0 is enough for them", func(s *Spec) *int { return &s.Setup.Quota }, 0, 5, 15, 40)),
}

// gates are the feature gates of k8s.io/apiserver and client-go v0.37 that are not locked
// and that the code under test reads, away from their defaults.
var gates = []string{
	"AllowUnsafeMalformedObjectDeletion=false", "ConcurrentWatchObjectDecode=false", "ConsistentListFromCacheSkipTimeoutFallback=true",
	"DetectCacheInconsistency=false", "EtcdRangeStream=false", "ListFromCacheSnapshot=false", "SizeBasedListCostEstimate=false", withoutWatchList,
	"AtomicFIFO=false", "InOrderInformersBatchProcess=false", "InformerResourceVersion=false", "UnlockWhileProcessingFIFO=false", "WatchListClient=false",
}

// withoutWatchList is the gate without which API servers refuse streaming lists.
const withoutWatchList = "WatchList=false"

// drawGates draws each gate with a probability of one half.
func drawGates(random *rand.Rand) string {
	return textOf(slices.DeleteFunc(slices.Clone(gates), func(string) bool { return random.IntN(2) == 0 }))
}

// drawKinds draws one to three kinds of fault for half of the seeds: a few kinds that happen often
// interact in ways that a few faults of every kind do not.
func drawKinds(random *rand.Rand) string {
	switch random.IntN(4) {
	case 0:
		return "none"
	case 1:
		return "every"
	}
	kinds := faults.Kinds()
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	var names []string
	for _, kind := range kinds[:1+random.IntN(maxFewKinds)] {
		names = append(names, kind.Name)
	}
	return textOf(names)
}

// maxFewKinds is the largest number of kinds in such runs.
const maxFewKinds = 3

// listOf and textOf convert between a list and its text in a knob.
func listOf(text string) []string {
	if text == "none" {
		return nil
	}
	return strings.Split(text, "+")
}

func textOf(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, "+")
}

func kindsOf(s *Spec) string {
	switch {
	case s.Kinds == nil && s.Every:
		return "every"
	case s.Kinds == nil:
		return "all"
	}
	return textOf(s.Kinds)
}

func setKinds(s *Spec, text string) error {
	s.Plan = ""
	switch text {
	case "all", "every":
		s.Kinds, s.Every = nil, text == "every"
		return nil
	case "none":
		s.Kinds, s.Every = []string{}, false
		return nil
	}
	kinds := listOf(text)
	for _, kind := range kinds {
		if _, known := faults.Lookup(kind); !known {
			return ErrKnob
		}
	}
	s.Kinds, s.Every = kinds, true
	return nil
}
