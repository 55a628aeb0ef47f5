package simtest_test

import (
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/simtest"
)

// What follows are mistakes that people make with their first tests. TestMistakesAreSaid runs
// them: each is one sentence, and none hangs.

// echoes is served by a goroutine of the package, which no simulation has started.
var echoes = make(chan chan bool)

func init() {
	go func() {
		for answer := range echoes {
			answer <- true
		}
	}()
}

func TestAsksAPackagesGoroutine(t *testing.T) {
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		answer := make(chan bool)
		echoes <- answer
		<-answer
	})
}

func TestIsWokenFromOutside(t *testing.T) {
	ticks := make(chan int)
	go func() {
		for i := 0; ; i++ {
			ticks <- i
		}
	}()
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		for range 10 {
			<-ticks
		}
	})
}

func TestReadsTheClockOutside(t *testing.T) {
	began := time.Now()
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		time.Sleep(time.Duration(began.UnixNano() % 1000))
	})
}

func TestDialsTheRealNetwork(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) {
		_, err := net.DialTimeout("tcp", "192.0.2.1:443", time.Second)
		require.NoError(t, err)
	})
}

func TestAsksARealServer(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		_, err := http.Get("http://example.com/")
		require.NoError(t, err)
	})
}

func TestRunsACommand(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) {
		require.NoError(t, exec.Command("sleep", "1").Run())
	})
}

func TestHasNoBody(t *testing.T) { inside(t, simtest.Config{}, nil) }

func TestHasLessThanNoMember(t *testing.T) {
	inside(t, simtest.Config{Members: -1}, func(*simtest.T, *simtest.Cluster) {})
}

func TestSeedsWithinSeeds(t *testing.T) {
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		simtest.Seeds(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {})
	})
}

func TestSeedsTwice(t *testing.T) {
	for range 2 {
		inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {})
	}
}

func TestHasDefinitionsNowhere(t *testing.T) {
	inside(t, simtest.Config{CRDs: []string{"nowhere"}}, func(*simtest.T, *simtest.Cluster) {})
}

func TestObjectsOfNothing(t *testing.T) {
	inside(t, simtest.Config{}, func(_ *simtest.T, c *simtest.Cluster) {
		c.Objects("parts.example.com")
	})
}

// TestIsKilled is what happens to a run when the machine runs out of memory.
func TestIsKilled(t *testing.T) {
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		_ = unix.Kill(unix.Getpid(), unix.SIGKILL)
	})
}

func TestMistakesAreSaid(t *testing.T) {
	for test, want := range map[string]string{
		"TestAsksAPackagesGoroutine": "the function of the test had not returned from wrong_test.go:35 (chan receive); a goroutine that was started before the simulation does nothing during it",
		"TestIsWokenFromOutside":     "the function of the test had not returned from wrong_test.go:48 (chan receive); a goroutine that was started before the simulation does nothing during it",
		"TestReadsTheClockOutside":   "expected the same run of seed 1 in each process, found the hashes ",
		"TestDialsTheRealNetwork":    "lookup 192.0.2.1: no such host in the simulation",
		"TestAsksARealServer":        "lookup example.com: no such host in the simulation",
		"TestRunsACommand":           "a simulated program cannot start a process, as what that one does would not follow from the seed",
		"TestIsKilled":               "seed 1 has no verdict, twice: it was killed with SIGKILL, by somebody or by a system without memory",
		"TestHasNoBody":              "expected a function and no negative number in simtest's Config, found the function nil: true",
		"TestHasLessThanNoMember":    "found the function nil: false, -1 members and 0 servers",
		"TestSeedsWithinSeeds":       "expected one call of simtest.Seeds or simtest.Property in a test, found another one",
		"TestSeedsTwice":             "expected one call of simtest.Seeds or simtest.Property in a test, found another one",
		"TestLosesPartOfTheValue":    "expected a value that JSON keeps as it is, such as a struct of exported fields, found simtest_test.value {size:7}: it comes back as {size:0}",
		"TestHasNoBodyWithinRapid":   "expected a function and no negative number in simtest's Config, found the function nil: true",
		"TestObjectsOfNothing":       `expected the name of a definition in Config.CRDs, one of [], found "parts.example.com"`,
		"TestHasDefinitionsNowhere":  "expected definitions of custom resources in nowhere: ",
	} {
		t.Run(test, func(t *testing.T) {
			out := fails(t, "", test, "-simtest.seeds=2", "-simtest.workers=2")
			require.Contains(t, out, want)
		})
	}
}

// What follows looks wrong, and works.

func TestSetsGOMAXPROCS(t *testing.T) {
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		runtime.GOMAXPROCS(4) // as go.uber.org/automaxprocs does
		time.Sleep(time.Second)
	})
}

func TestWaitsForTheRealClock(t *testing.T) {
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		for began := time.Now(); time.Since(began) < time.Second; {
		}
	})
}

func TestIsParallel(t *testing.T) {
	t.Parallel()
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {})
}

func TestHasSubtests(t *testing.T) {
	for _, name := range []string{"a b", "a/b", "a"} {
		t.Run(name, func(t *testing.T) {
			inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {})
		})
	}
}

func TestUnusualTestsPass(t *testing.T) {
	for _, test := range []string{"TestSetsGOMAXPROCS", "TestWaitsForTheRealClock", "TestIsParallel", "TestHasSubtests"} {
		t.Run(test, func(t *testing.T) {
			out := passes(t, "", test, "-simtest.seeds=2")
			require.Contains(t, out, "2 seeds passed")
		})
	}
}
