package simtest_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/simtest"
)

// TestDraws creates objects that rapid draws, and has a bug with large ones.
func TestDraws(t *testing.T) {
	sizes := rapid.SliceOfN(rapid.IntRange(0, 100_000), 1, 8)
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		if simtest.Draw(t, rapid.Bool(), "rest first") {
			time.Sleep(time.Second)
		}
		for _, size := range simtest.Draw(t, sizes, "sizes") {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "drawn-"}, BinaryData: map[string][]byte{"x": make([]byte, size)}}
			_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
			require.NoError(t, err)
			if size >= 1000 {
				t.Fatal("a large object")
			}
		}
	})
}

// TestRepeats has a bug that shows when an object is created, updated and deleted in succession.
func TestRepeats(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		maps, row := c.Client().CoreV1().ConfigMaps("default"), ""
		did := func(letter string, do func(*corev1.ConfigMap) error) func(*simtest.T) {
			return func(t *simtest.T) {
				name := simtest.Draw(t, rapid.SampledFrom([]string{"a", "b"}), "name")
				if do(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}) == nil {
					row += letter + name
				} else {
					row += "-"
				}
			}
		}
		simtest.Repeat(t, 30, map[string]func(*simtest.T){
			"create": did("c", func(object *corev1.ConfigMap) error {
				_, err := maps.Create(t.Context(), object, metav1.CreateOptions{})
				return err
			}),
			"update": did("u", func(object *corev1.ConfigMap) error {
				_, err := maps.Update(t.Context(), object, metav1.UpdateOptions{})
				return err
			}),
			"delete": did("d", func(object *corev1.ConfigMap) error {
				return maps.Delete(t.Context(), object.Name, metav1.DeleteOptions{})
			}),
			"": func(t *simtest.T) {
				if strings.HasSuffix(row, "cbubdb") {
					t.Fatal("created, updated and deleted in a row")
				}
			},
		})
	})
}

// A failure keeps the actions that it needs, with their drawn values.
func TestActionsShrink(t *testing.T) {
	dir := t.TempDir()
	out := fails(t, dir, "TestRepeats", "-simtest.seeds=50", "-simtest.shrink=5m")
	again := fails(t, dir, "TestRepeats", "-simtest.seeds=1")
	for _, report := range []string{out, again} {
		require.Regexp(t, `(?s)drawn action \d+: create\s.*drawn action \d+: update\s.*drawn action \d+: delete\s`, report)
		require.Equal(t, 3, strings.Count(report, " name: b"), report)
		require.Equal(t, 6, strings.Count(report, "drawn action"), report)
	}
}

// startsTwice has a program that fails when it is restarted.
func startsTwice(t *testing.T, begin func(*simtest.T, *simtest.Cluster)) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		starts := 0
		c.Go("program", func(ctx context.Context, _ *rest.Config) error {
			starts++
			<-ctx.Done()
			return nil
		})
		begin(t, c)
		c.Heal()
		if starts > 1 {
			t.Fatal("started twice")
		}
	})
}

func TestHasFaults(t *testing.T) {
	startsTwice(t, func(_ *simtest.T, c *simtest.Cluster) { c.Faults(20 * time.Second) })
}

func TestDrawsPlans(t *testing.T) {
	startsTwice(t, func(t *simtest.T, c *simtest.Cluster) {
		c.Inject(simtest.Draw(t, c.Plans(20*time.Second), "plan"), 20*time.Second)
	})
}

// Of a seed's faults, and of a drawn plan, one is left; it is kept, and the failure reproduces.
func TestPlansShrink(t *testing.T) {
	for _, test := range []string{"TestHasFaults", "TestDrawsPlans"} {
		dir := t.TempDir()
		out := fails(t, dir, test, "-simtest.seeds=50", "-simtest.shrink=5m")
		require.Regexp(t, `It needs 1 of the \d+ faults of the seed:\n\s+at \S+ program-(crash|restart) program=program`, out)
		shown := regexp.MustCompile(`shown is a smaller run that fails alike, .*(after \S+ of simulated time \(hash \w+\)):`).FindStringSubmatch(out)
		require.NotNil(t, shown, out)
		again := fails(t, dir, test, "-simtest.seeds=1")
		require.Regexp(t, `It was kept before, with these faults:\n\s+at \S+ program-(crash|restart) program=program\s[^\n]*\n\s+[A-Z]`, again)
		require.Contains(t, again, " failed "+shown[1])
	}
}

// TestBreaksLate begins its faults after 20 s.
func TestBreaksLate(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		time.Sleep(20 * time.Second)
		plan, err := faults.Parse("at 1s compaction revision=current\nbetween 2s and 3s on sync 1 of etcd-0 power-loss member=etcd-0 keep=nothing down=1s\n")
		require.NoError(t, err)
		c.Inject(plan, 5*time.Second)
		c.Heal()
		t.Error("wrong")
	})
}

// Faults are reported on the clock of requests, and kept as Inject takes them.
func TestFaultsAreToldByTheClockOfRequests(t *testing.T) {
	dir := t.TempDir()
	out := fails(t, dir, "TestBreaksLate", "-simtest.seeds=1", "-simtest.shrink=0")
	require.Contains(t, out, "at 21s compaction revision=current\n")
	require.Contains(t, out, "between 22s and 23s on sync 1 of etcd-0 power-loss ")
	_, kept := only(t, dir, "testdata", "simtest", "TestBreaksLate", "seed-1")
	require.Contains(t, string(kept), "\nat 1s compaction revision=current\n")
}

// TestDrawsInVain draws what no generator can produce.
func TestDrawsInVain(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) {
		simtest.Draw(t, rapid.Int().Filter(func(int) bool { return false }), "nothing")
	})
}

// Drawn values follow from the seed, are simplified, and are kept.
func TestWhatIsDrawnShrinks(t *testing.T) {
	dir := t.TempDir()
	out := fails(t, dir, "TestDraws", "-simtest.seeds=50", "-simtest.shrink=5m")
	require.Contains(t, out, "drawn rest first: false")
	require.Contains(t, out, "drawn sizes: [1000]")
	_, kept := only(t, dir, "testdata", "simtest", "TestDraws", "seed-*")
	require.Contains(t, string(kept), `# watchsim drawn "sizes" [`)
	again := fails(t, dir, "TestDraws", "-simtest.seeds=1")
	require.Contains(t, again, "It was kept before")
	require.Contains(t, again, "drawn sizes: [1000]")

	out = passes(t, "", "TestDrawsInVain", "-simtest.seeds=2")
	require.Contains(t, out, "0 seeds passed in ")
	require.Contains(t, out, "2 were skipped")
}
