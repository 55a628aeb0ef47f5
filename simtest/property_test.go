package simtest_test

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/simtest"
)

// sizes are the sizes of objects that a test creates.
type sizes struct {
	First time.Duration
	Of    []int
}

var drawSizes = rapid.Custom(func(t *rapid.T) sizes {
	return sizes{
		First: time.Duration(rapid.IntRange(0, int(time.Second)).Draw(t, "first")),
		Of:    rapid.SliceOfN(rapid.IntRange(0, 100_000), 1, 8).Draw(t, "of"),
	}
})

// creates returns a test that creates objects, with a bug for those larger than the limit.
func creates(limit int) func(*simtest.T, *simtest.Cluster, sizes) {
	return func(t *simtest.T, c *simtest.Cluster, value sizes) {
		c.Faults(10 * time.Second)
		time.Sleep(value.First)
		c.Heal()
		for _, size := range value.Of {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "drawn-"}, BinaryData: map[string][]byte{"x": make([]byte, size)}}
			_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
			require.NoError(t, err)
			if size >= 50*limit {
				t.Fatal("a huge object")
			}
			if size >= limit {
				t.Fatal("a large object")
			}
		}
	}
}

func TestWithinRapid(t *testing.T) {
	run := simtest.Property(t, simtest.Config{}, creates(1_000_000))
	rapid.Check(t, func(draw *rapid.T) { run(draw, drawSizes.Draw(draw, "sizes")) })
}

func TestFailsWithinRapid(t *testing.T) {
	onlyOutside(t)
	run := simtest.Property(t, simtest.Config{}, creates(1_000))
	rapid.Check(t, func(draw *rapid.T) { run(draw, drawSizes.Draw(draw, "sizes")) })
}

// Rapid finds the simplest value, simtest drops the faults, and the kept failure fails alike.
func TestRapidAndSimtestShrinkTogether(t *testing.T) {
	dir := t.TempDir()
	out := fails(t, dir, "TestFailsWithinRapid", "-rapid.nofailfile", "-rapid.seed=3")
	require.Contains(t, out, `draw sizes: simtest_test.sizes{First:0, Of:[]int{1000}}`)
	require.Contains(t, out, `The value was {"First":0,"Of":[1000]}`)
	require.Regexp(t, `It needs no(ne of the \d+)? faults`, out)
	require.Contains(t, out, "go test -run '^TestFailsWithinRapid$'\n")
	require.NotContains(t, out, "[rapid] flaky")

	shown := regexp.MustCompile(`smaller run that fails alike, .*\(hash ([0-9a-f]{16})\)|after .*\(hash ([0-9a-f]{16})\):`).FindStringSubmatch(out)
	require.NotNil(t, shown, out)
	hash := shown[1] + shown[2]
	again := fails(t, dir, "TestFailsWithinRapid")
	require.NotContains(t, again, "[rapid]", "what was kept runs first")
	require.Contains(t, again, "(hash "+hash+")")
	require.Contains(t, again, `The value was {"First":0,"Of":[1000]}`)

	path, content := only(t, dir, "testdata", "simtest", "TestFailsWithinRapid", "seed-*")
	seed := regexp.MustCompile(`\d+$`).FindString(path)
	inPlace := fails(t, dir, "TestFailsWithinRapid", "-simtest.no-fork", "-simtest.seed="+seed)
	require.Contains(t, inPlace, "(hash "+hash+")")
	other := fails(t, t.TempDir(), "TestFailsWithinRapid", "-simtest.no-fork", "-simtest.seed="+seed)
	require.Contains(t, other, "expected -simtest.no-fork with the -simtest.seed of a failure that was kept")

	for from, want := range map[string]string{
		`{"First":0,`: `expected a value of type simtest_test.sizes, found {"First":"soon",`,
		"# watchsim":  "expected a value in testdata/simtest/TestFailsWithinRapid/seed-" + seed,
	} {
		to := map[string]string{`{"First":0,`: `{"First":"soon",`, "# watchsim": "# something"}[from]
		require.NoError(t, os.WriteFile(path, regexp.MustCompile(regexp.QuoteMeta(from)).ReplaceAll(content, []byte(to)), 0o644))
		out := fails(t, dir, "TestFailsWithinRapid")
		require.Contains(t, out, want)
	}
}

// Another failure is not a simpler value of the same failure.
func TestRapidStaysWithOneFailure(t *testing.T) {
	out := fails(t, "", "TestFailsWithinRapid", "-rapid.nofailfile", "-rapid.seed=2", "-simtest.shrink=0")
	require.Contains(t, out, "a huge object")
	require.Contains(t, out, `The value was {"First":0,"Of":[50000]}`)
}

// TestObjectsWithinRapid creates objects of a definition, drawn outside of the cluster.
func TestObjectsWithinRapid(t *testing.T) {
	config := simtest.Config{CRDs: []string{"testdata/crds", "testdata/objects"}}
	run := simtest.Property(t, config, func(t *simtest.T, c *simtest.Cluster, part *unstructured.Unstructured) {
		client, err := dynamic.NewForConfig(c.Config())
		require.NoError(t, err)
		parts := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "parts"}).Namespace("default")
		_, err = parts.Create(t.Context(), part, metav1.CreateOptions{})
		require.NoError(t, err)
	})
	parts := simtest.Objects(t, config, "parts.example.com")
	rapid.Check(t, func(draw *rapid.T) { run(draw, parts.Draw(draw, "part")) })
}
