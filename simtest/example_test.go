package simtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/simtest"
)

// A program creates an object while it is crashed and cut off. Only tests can run this, as Seeds
// needs their *testing.T.
func ExampleSeeds() {
	_ = func(t *testing.T) { // func TestCreates
		simtest.Seeds(t, simtest.Config{Servers: 2}, func(t *simtest.T, c *simtest.Cluster) {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
			c.Go("creator", func(ctx context.Context, config *rest.Config) error {
				client, err := kubernetes.NewForConfig(config)
				if err != nil {
					return err
				}
				_, err = client.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{})
				return err
			})
			c.Faults(30 * time.Second)
			c.Eventually(func() error {
				_, err := c.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "settings", metav1.GetOptions{})
				return err
			})
		})
	}
}

// Objects are created and deleted in a drawn order, and an invariant is checked after each action.
func ExampleRepeat() {
	_ = func(t *testing.T) { // func TestInAnyOrder
		simtest.Seeds(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
			maps, there := c.Client().CoreV1().ConfigMaps("default"), map[string]bool{}
			names := rapid.SampledFrom([]string{"a", "b", "c"})
			simtest.Repeat(t, 30, map[string]func(*simtest.T){
				"create": func(t *simtest.T) {
					name := simtest.Draw(t, names, "name")
					_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
					t.Always("only what is there cannot be created", (err != nil) == there[name])
					there[name] = true
				},
				"delete": func(t *simtest.T) {
					name := simtest.Draw(t, names, "name")
					err := maps.Delete(t.Context(), name, metav1.DeleteOptions{})
					t.Always("only what is there can be deleted", (err == nil) == there[name])
					delete(there, name)
				},
				"": func(t *simtest.T) {
					all, err := maps.List(t.Context(), metav1.ListOptions{})
					t.Always("a list has what is there", err == nil && len(all.Items) == len(there))
				},
			})
		})
	}
}

// Rapid draws the sizes of objects, and looks for simpler ones once a run fails.
func ExampleProperty() {
	_ = func(t *testing.T) { // func TestSizes
		run := simtest.Property(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster, sizes []int) {
			for _, size := range sizes {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "drawn-"}, BinaryData: map[string][]byte{"x": make([]byte, size)}}
				_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{})
				t.Always("there is room", err == nil)
			}
		})
		sizes := rapid.SliceOf(rapid.IntRange(0, 100_000))
		rapid.Check(t, func(draw *rapid.T) { run(draw, sizes.Draw(draw, "sizes")) })
	}
}

// Kinds returns names for -simtest.faults.
func ExampleKinds() {
	fmt.Println(simtest.Kinds(simtest.Config{})[:3])
	// Output: [compaction etcd-restart etcd-crash]
}
