package simtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackagesWithCgoAreNamed(t *testing.T) {
	dir := t.TempDir()
	for file, content := range map[string]string{
		"go.mod":     "module example.com/mine\n\ngo 1.26\n",
		"my_test.go": "package mine\n\nimport _ \"example.com/mine/bound\"\n",
		"bound/c.go": "package bound\n\n// int one(void) { return 1; }\nimport \"C\"\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
	}
	require.Equal(t, []string{"example.com/mine/bound"}, usesCgo(dir))
	require.Empty(t, usesCgo("."))
}
