package scenario

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run of an old release must not report the version that the project requires.
func TestTheVersionIsThatOfTheCodeThatWasBuilt(t *testing.T) {
	link := filepath.Join(t.TempDir(), "go.etcd.io_etcd_server_v3")
	require.NoError(t, os.Symlink("/modules/go.etcd.io/etcd/server/v3@v3.5.12", link))
	for name, row := range map[string]struct {
		replace *debug.Module
		want    string
	}{
		"as required":        {nil, "v3.7.0"},
		"another release":    {&debug.Module{Path: "go.etcd.io/etcd/server/v3", Version: "v3.5.13"}, "v3.5.13"},
		"a link to another":  {&debug.Module{Path: link}, "v3.5.12"},
		"a folder with code": {&debug.Module{Path: t.TempDir()}, "v3.7.0"},
	} {
		module := &debug.Module{Path: "go.etcd.io/etcd/server/v3", Version: "v3.7.0", Replace: row.replace}
		require.Equal(t, row.want, version(module), name)
	}
}
