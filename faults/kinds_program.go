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
			withheld, err := a.StallWatches(a.Program, a.Resources)
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
			ended, err := a.EndWatches(a.Program, a.Resources)
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
		Name: "slow-requests",
		Doc: "Makes the requests of a program, all of them or those for some resources, take up to so much longer, as long lists and full priority levels do: " +
			"each reaches the API server late, or is answered late. Open watches go on.",
		Parameters: []Parameter{parameterProgram, parameterRequests, parameterExtra, parameterFor},
		maxLasts:   maxSlowRequests,
		claims:     claim(func(f Fault) string { return "the time that the requests of " + f.Program + " take" }),
		begin:      func(a action) (string, error) { return "", a.DelayRequests(a.Program, a.Resources, a.Delay) },
		end:        func(a action) error { return a.DelayRequests(a.Program, "", 0) },
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

// AllResources is the Fault.Resources that selects all.
const AllResources = "all"

// someResources is the prefix of a Fault.Resources that selects some: the number after it chooses a half,
// a quarter or an eighth of them. It is drawn before anybody knows which ones a program uses.
const someResources = "some-"

// Selects reports whether a fault's Resources select a resource: [AllResources], some-N, or names of resources separated by commas.
func Selects(resources, resource string) bool {
	number, some := strings.CutPrefix(resources, someResources)
	if !some {
		return resources == AllResources || slices.Contains(strings.Split(resources, ","), resource)
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

// maxSlowRequests is long enough for everything that a program does after a restart.
const maxSlowRequests = time.Minute

// watchLag is the kind that [GeneratorConfig.Late] draws.
const watchLag = "watch-lag"

// maxWatchLag is longer than the faults of most runs take together: a busy controller's cache lags
// all the time.
const maxWatchLag = 2 * time.Minute

var (
	parameterWatches  = resourcesParameter("watches")
	parameterRequests = resourcesParameter("requests")
	// parameterExtra is from what nobody notices to more than a leader's renew deadline (10 s) and a node's lease (40 s).
	parameterExtra = durationParameter("delay", delay, 50*time.Millisecond, 45*time.Second)

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

// resourcesParameter selects the resources of watches or of other requests.
func resourcesParameter(name string) Parameter {
	return Parameter{
		Name: name, Expects: "all, some-N with a number that chooses resources, or the names of resources such as pods or databases.example.com, with commas between them",
		print: func(f Fault) string { return f.Resources },
		parse: func(f *Fault, text string) bool {
			number, some := strings.CutPrefix(text, someResources)
			_, err := strconv.ParseUint(number, 10, 32)
			f.Resources = text
			return text != "" && (!some || err == nil)
		},
		draw: func(f *Fault, random *rand.Rand, _ Topology) {
			if f.Resources = AllResources; random.IntN(2) == 0 {
				f.Resources = drawResources(random)
			}
		},
	}
}

// drawResources selects some resources.
func drawResources(random *rand.Rand) string { return fmt.Sprint(someResources, random.IntN(1000)) }
