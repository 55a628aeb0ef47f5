package simtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/watchsim/watchsim/simtest"
)

// TestObjects requires API servers to accept drawn objects, which must cover each field of the
// schema.
func TestObjects(t *testing.T) {
	t.Cleanup(func() { require.False(t, t.Skipped(), "no seed could draw its objects") })
	config := simtest.Config{CRDs: []string{"testdata/crds", "testdata/objects"}}
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		client, err := dynamic.NewForConfig(c.Config())
		require.NoError(t, err)
		parts := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "parts"}).Namespace("default")
		drawn, seen := c.Objects("parts.example.com"), map[string]int{}
		const number = 60
		for range number {
			part := simtest.Draw(t, drawn, "part")
			require.NotContains(t, part.Object, "status")
			spec := part.Object["spec"].(map[string]any)
			formats, _ := spec["formats"].(map[string]any)
			for _, fields := range []map[string]any{spec, formats} {
				for field := range fields {
					seen[field]++
				}
			}
			made, err := parts.Create(t.Context(), part, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				continue // but it has been validated
			}
			require.NoError(t, err, "%+v", part)
			sent, err := json.Marshal(spec)
			require.NoError(t, err)
			stored, err := json.Marshal(made.Object["spec"])
			require.NoError(t, err)
			require.JSONEq(t, string(sent), string(stored))
		}
		fields := strings.Fields("kind replicas weight multiple code label until secret share anything tags ports limits routes template formats " +
			"bsonobjectid cidr creditcard date datetime duration email hexcolor hostname ipv4 ipv6 isbn isbn10 isbn13 k8slongname k8sshortname mac password rgbcolor ssn uri uuid uuid3 uuid4 uuid5")
		for _, field := range fields {
			require.Positive(t, seen[field], "%s is never drawn: %v", field, seen)
		}
		require.Len(t, seen, len(fields), "%v", seen)
	})
}
