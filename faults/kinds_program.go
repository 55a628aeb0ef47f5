package faults

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// programKinds are about programs that use a cluster, such as controllers, and API servers' answers
// to them.
func programKinds() []Kind {
	return []Kind{{
		Name: "program-crash",
		Doc: "Kills a program that uses the cluster and starts it again after a while. " +
			"What it wrote stays; what it had only decided or remembered is gone.",
		Parameters: []Parameter{parameterProgram, parameterDown},
		slow:       true,
		switches:   true,
		forgets:    true,
		begin:      func(a action) (string, error) { return "", a.CrashProgram(a.Program) },
		end:        func(a action) error { return a.StartProgram(a.Program) },
	}, {
		Name: watchStall,
		Doc: "Withholds what API servers send on the watches of a program, all of them or those of some resources, while its other requests are answered. " +
			"The program's caches are stale; once the watches resume, they catch up without a gap.",
		Parameters: []Parameter{parameterProgram, parameterWatches, parameterFor},
		maxLasts:   maxWatchStall,
		claims:     claim(func(f Fault) string { return "the watches of " + f.Program }),
		begin: func(a action) (string, error) {
			withheld, err := a.StallWatches(a.Program, a.Watches)
			return "withholds " + cmp.Or(strings.Join(withheld, ", "), "nothing yet"), err
		},
		end: func(a action) error { return a.ResumeWatches(a.Program) },
	}, {
		Name: watchLag,
		Doc: "Delivers what API servers send on the watches of a program only every so often, for up to most of a run, each resource at times of its own, " +
			"while its other requests are answered. The program's caches are stale, some more than others, and many events come at once.",
		Parameters: []Parameter{parameterProgram, parameterEvery, parameterFor},
		maxLasts:   maxWatchLag,
		claims:     claim(func(f Fault) string { return "the pace of the watches of " + f.Program }),
		begin:      func(a action) (string, error) { return "", a.LagWatches(a.Program, a.Period) },
		end:        func(a action) error { return a.LagWatches(a.Program, 0) },
	}, {
		Name: "watch-timeout",
		Doc: "Ends the watches of a program, all of them or those of some resources, as API servers do after timeoutSeconds. " +
			"The program resumes them without a gap.",
		Parameters: []Parameter{parameterProgram, parameterWatches},
		claims:     claimsNothing, // stalled watches can end, too
		begin: func(a action) (string, error) {
			ended, err := a.EndWatches(a.Program, a.Watches)
			return model.Plural(ended, "stream"), err
		},
	}, {
		Name: "request-failure",
		Doc: "Answers the requests of a program, all of them or some at random, with an error and does not serve them, as API servers do that are overloaded, broken or about to stop, or that reject expired credentials. " +
			"Such requests have no effect; open watches continue.",
		Parameters: []Parameter{parameterProgram, parameterCode, parameterOneIn, parameterFor},
		maxLasts:   maxRequestFailure,
		claims:     claim(func(f Fault) string { return "the requests of " + f.Program }),
		begin:      func(a action) (string, error) { return "", a.FailRequests(a.Program, a.Code, a.OneIn) },
		end:        func(a action) error { return a.FailRequests(a.Program, 0, 1) },
	}, {
		Name: "program-restart",
		Doc: "Tells a program that uses the cluster to stop, as SIGTERM does, kills it if it has not ended after a while, and starts it again. " +
			"What it wrote stays, and whoever takes over from it meanwhile may rely on what it released.",
		Parameters: []Parameter{parameterProgram, parameterDown},
		slow:       true,
		switches:   true,
		forgets:    true,
		begin:      func(a action) (string, error) { return "", a.StopProgram(a.Program) },
		end:        func(a action) error { return a.StartProgram(a.Program) },
	}}
}

// AllWatches is the Fault.Watches that selects the watches of all resources.
const AllWatches = "all"

// someWatches is the prefix of a Fault.Watches that selects the watches of some resources: the number after it chooses a half,
// a quarter or an eighth of them. It is drawn before anybody knows what a program watches.
const someWatches = "some-"

// Watches reports whether a fault's Watches select a resource: [AllWatches], some-N, or names of resources separated by commas.
func Watches(watches, resource string) bool {
	number, some := strings.CutPrefix(watches, someWatches)
	if !some {
		return watches == AllWatches || slices.Contains(strings.Split(watches, ","), resource)
	}
	chosen, err := strconv.ParseUint(number, 10, 32)
	hash := fnv.New32a()
	fmt.Fprint(hash, number, resource)
	return err == nil && hash.Sum32()>>16%(2<<(chosen%3)) == 0 // the lowest bits would be the number's, for every resource
}

// watchStall is the kind that [PatternStale] draws.
const watchStall = "watch-stall"

// maxWatchStall is longer than the grace period of a silent node and the lease of a leader, so that
// a program decides by a stale view of them.
const maxWatchStall = time.Minute

// maxRequestFailure is long enough for failures in everything that a program does.
const maxRequestFailure = time.Minute

// watchLag is the kind that [GeneratorConfig.Late] draws.
const watchLag = "watch-lag"

// maxWatchLag is longer than the faults of most runs take together: a busy controller's cache lags
// all the time.
const maxWatchLag = 2 * time.Minute

var (
	parameterWatches = Parameter{
		Name: "watches", Expects: "all, some-N with a number that chooses resources, or the names of resources such as pods or databases.example.com, with commas between them",
		print: func(f Fault) string { return f.Watches },
		parse: func(f *Fault, text string) bool {
			number, some := strings.CutPrefix(text, someWatches)
			_, err := strconv.ParseUint(number, 10, 32)
			f.Watches = text
			return text != "" && (!some || err == nil)
		},
		draw: func(f *Fault, random *rand.Rand, _ Topology) {
			if f.Watches = AllWatches; random.IntN(2) == 0 {
				f.Watches = drawWatches(random)
			}
		},
	}
	parameterCode = newParameter("code", "401, 429, 500 or 503", func(f *Fault) *int { return &f.Code },
		func(text string) (int, bool) {
			code, err := strconv.Atoi(text)
			return code, err == nil && slices.Contains(failures, code)
		},
		func(random *rand.Rand) int { return pick(random, failures) })

	parameterOneIn = newParameter("one-in", "a number above zero, 1 for all requests", func(f *Fault) *int64 { return &f.OneIn },
		func(text string) (int64, bool) { return parseCount(text, 1, 63) },
		func(random *rand.Rand) int64 { return pick(random, []int64{1, 1, 4, 16}) })

	// failures are an expired certificate or token, too many requests, an internal error, and an unavailable server.
	failures = []int{401, 429, 500, 503}
)

// drawWatches selects the watches of some resources.
func drawWatches(random *rand.Rand) string { return fmt.Sprint(someWatches, random.IntN(1000)) }
