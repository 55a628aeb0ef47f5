package simtest_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/simtest"
)

// said is a test, and what its output contains when users run it.
type said struct {
	name, says string
	test       func(*testing.T)
}

// saying has fails or passes run each test, and requires its output to contain what the row says,
// and also something that is the same for all. In the process that they start, it is the one test
// that was asked for.
func saying(t *testing.T, run func(*testing.T, string, string, ...string) string, also string, rows []said, arguments ...string) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if os.Getenv(asOutside) != "" {
				row.test(t)
				return
			}
			out := run(t, "", t.Name(), arguments...)
			require.Contains(t, out, also)
			require.Contains(t, out, row.says)
		})
	}
}

// seeds returns the test of a function.
func seeds(config simtest.Config, body func(*simtest.T, *simtest.Cluster)) func(*testing.T) {
	return func(t *testing.T) { simtest.Seeds(t, config, body) }
}

func plain(body func(*simtest.T, *simtest.Cluster)) func(*testing.T) {
	return seeds(simtest.Config{}, body)
}

func nothing(*simtest.T, *simtest.Cluster) {}

// echoes is served by a goroutine of the package, which no simulation has started.
var echoes = make(chan chan bool)

func init() {
	go func() {
		for answer := range echoes {
			answer <- true
		}
	}()
}

// What people do wrong in their first tests is said in one sentence, and nothing hangs.
func TestMistakesAreSaid(t *testing.T) {
	saying(t, fails, "", []said{
		{"asks a goroutine of a package",
			"the function of the test had not returned from wrong_test.go:79 (chan receive); a goroutine that was started before the simulation does nothing during it",
			plain(func(*simtest.T, *simtest.Cluster) {
				answer := make(chan bool)
				echoes <- answer
				<-answer
			})},
		{"is woken from outside",
			"the function of the test had not returned from wrong_test.go:92 (chan receive); a goroutine that was started before the simulation does nothing during it",
			func(t *testing.T) {
				ticks := make(chan int)
				go func() {
					for i := 0; ; i++ {
						ticks <- i
					}
				}()
				plain(func(*simtest.T, *simtest.Cluster) {
					for range 10 {
						<-ticks
					}
				})(t)
			}},
		{"reads the clock outside", "expected the same run of seed 1 in each process, found the hashes ", func(t *testing.T) {
			began := time.Now()
			plain(func(*simtest.T, *simtest.Cluster) { time.Sleep(time.Duration(began.UnixNano() % 1000)) })(t)
		}},
		{"dials the real network", "lookup 192.0.2.1: no such host in the simulation", plain(func(t *simtest.T, _ *simtest.Cluster) {
			_, err := net.DialTimeout("tcp", "192.0.2.1:443", time.Second)
			require.NoError(t, err)
		})},
		{"asks a real server", "lookup example.com: no such host in the simulation", plain(func(t *simtest.T, _ *simtest.Cluster) {
			_, err := http.Get("http://example.com/")
			require.NoError(t, err)
		})},
		{"runs a command", "a simulated program cannot start a process, as what that one does would not follow from the seed",
			plain(func(t *simtest.T, _ *simtest.Cluster) { require.NoError(t, exec.Command("sleep", "1").Run()) })},
		{"is killed, as when the machine runs out of memory", "seed 1 has no verdict, twice: it was killed with SIGKILL, by somebody or by a system without memory",
			plain(func(*simtest.T, *simtest.Cluster) { _ = unix.Kill(unix.Getpid(), unix.SIGKILL) })},
		{"has no body", "expected a function and no negative number in simtest's Config, found the function nil: true", plain(nil)},
		{"has less than no member", "found the function nil: false, -1 members and 0 servers", seeds(simtest.Config{Members: -1}, nothing)},
		{"has seeds within seeds", "expected one call of simtest.Seeds or simtest.Property in a test, found another one", func(t *testing.T) {
			plain(func(*simtest.T, *simtest.Cluster) { plain(nothing)(t) })(t)
		}},
		{"has seeds twice", "expected one call of simtest.Seeds or simtest.Property in a test, found another one", func(t *testing.T) {
			plain(nothing)(t)
			plain(nothing)(t)
		}},
		{"has no body within rapid", "expected a function and no negative number in simtest's Config, found the function nil: true",
			func(t *testing.T) { simtest.Property[int](t, simtest.Config{}, nil) }},
		{"loses part of the value",
			"expected a value that JSON keeps as it is, such as a struct of exported fields, found struct { size int } {size:7}: it comes back as {size:0}",
			func(t *testing.T) {
				run := simtest.Property(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster, struct{ size int }) {})
				rapid.Check(t, func(draw *rapid.T) { run(draw, struct{ size int }{rapid.Just(7).Draw(draw, "size")}) })
			}},
		{"draws objects of nothing", `expected the name of a definition in Config.CRDs, one of [], found "parts.example.com"`,
			plain(func(_ *simtest.T, c *simtest.Cluster) { c.Objects("parts.example.com") })},
		{"has definitions nowhere", "expected definitions of custom resources in nowhere: ", seeds(simtest.Config{CRDs: []string{"nowhere"}}, nothing)},
		{"has an unknown cache", `expected Config.Cache to be one of ["kubernetes" "kubernetes with brief events" "kubernetes with brief events and CBOR" "watchsim" "watchsim with brief events"], found "another"`,
			seeds(simtest.Config{Cache: "another"}, nothing)},
	}, "-simtest.seeds=2", "-simtest.workers=2")
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	saying(t, fails, "seed 1 failed", []said{
		{"a program panics", "panic: the controller panics", plain(func(_ *simtest.T, c *simtest.Cluster) {
			c.Go("controller", func(context.Context, *rest.Config) error { panic("the controller panics") })
			time.Sleep(time.Second)
		})},
		{"an invariant breaks", "expected always: two is three", TestBroken},
		{"a check fails", "Config.Check: expected one client that creates, found 2", TestTwoWrite},
		{"etcd is full", "etcd's databases outgrew the 64 MiB that a test's cluster has room for", plain(func(t *simtest.T, c *simtest.Cluster) {
			maps, content := c.Client().CoreV1().ConfigMaps("default"), strings.Repeat("x", 1_000_000)
			for n := 0; ; n++ {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(n)}, Data: map[string]string{"x": content}}
				if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
					return
				}
			}
		})},
		{"the test exits", "test called os.Exit(3):", plain(func(_ *simtest.T, c *simtest.Cluster) {
			lives := 0
			c.Go("controller", func(context.Context, *rest.Config) error { lives++; os.Exit(7); return nil })
			time.Sleep(25 * time.Second) // it is restarted every 10 s
			os.Exit(lives)               // the test's own exit ends the run
		})},
		{"the test never ends", "the budget of simulated time is used up", plain(func(*simtest.T, *simtest.Cluster) { select {} })},
		{"the test outside is used", "use the test that the function is called with", func(t *testing.T) {
			plain(func(*simtest.T, *simtest.Cluster) { require.Fail(t, "what it says is lost") })(t)
		}},
		{"two programs have one name", `expected a name that no program has, found "controller" twice`, plain(func(_ *simtest.T, c *simtest.Cluster) {
			wait := func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil }
			c.Go("controller", wait)
			c.Go("controller", wait)
		})},
	}, "-simtest.seeds=1")
}

func TestWhatGoesWrongInBootIsSaid(t *testing.T) {
	boots := func(boot func(*simtest.T, *simtest.Cluster)) func(*testing.T) {
		return seeds(simtest.Config{Boot: boot}, nothing)
	}
	saying(t, fails, "Config.Boot failed:", []said{
		{"it fails", "nothing to begin with", boots(func(t *simtest.T, _ *simtest.Cluster) { t.Fatal("nothing to begin with") })},
		{"it has faults", "expected Faults and Inject in the function of the test, found one in Config.Boot",
			boots(func(_ *simtest.T, c *simtest.Cluster) { c.Faults(time.Second) })},
	}, "-simtest.seeds=1")
}

// What looks wrong may work.
func TestUnusualTestsPass(t *testing.T) {
	saying(t, passes, "", []said{
		{"sets GOMAXPROCS", "2 seeds passed", plain(func(*simtest.T, *simtest.Cluster) {
			runtime.GOMAXPROCS(4) // as go.uber.org/automaxprocs does
			time.Sleep(time.Second)
		})},
		{"waits for the real clock", "2 seeds passed", plain(func(*simtest.T, *simtest.Cluster) {
			for began := time.Now(); time.Since(began) < time.Second; {
			}
		})},
		{"is parallel", "2 seeds passed", func(t *testing.T) {
			t.Parallel()
			plain(nothing)(t)
		}},
		{"has subtests", "2 seeds passed", func(t *testing.T) {
			for _, name := range []string{"a b", "a/b", "a"} {
				t.Run(name, plain(nothing))
			}
		}},
	}, "-simtest.seeds=2")
}
