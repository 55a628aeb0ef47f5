package controlplane_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
)

func TestWebhooksAreRead(t *testing.T) {
	const mutating, validating = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: m}\n", "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: v}\n"
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	for content, want := range map[string][3]string{
		"---\n" + mutating + "---\n" + validating: {"m", "v", ""},
		validating: {"", "v", ""},
		mutating + "---\napiVersion: v1\nkind: Secret\n": {"", "", "manifests.yaml: expected configurations of webhooks, found *v1.Secret"},
		mutating + "---\nkind: Webhook\n":                {"", "", "manifests.yaml: "},
	} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		m, v, err := controlplane.ReadWebhooks(file)
		if want[2] != "" {
			require.ErrorContains(t, err, want[2])
			continue
		}
		require.NoError(t, err)
		found := [2]string{}
		if m != nil {
			found[0] = m.Name
		}
		if v != nil {
			found[1] = v.Name
		}
		require.Equal(t, [2]string(want[:2]), found, content)
	}
	_, _, err := controlplane.ReadWebhooks(file + "-none")
	require.ErrorIs(t, err, os.ErrNotExist)
}
