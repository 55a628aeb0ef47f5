package faults

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// topology is three members, two servers and three clients.
func topology() Topology {
	return Topology{
		Members: []string{"etcd-0", "etcd-1", "etcd-2"}, Servers: []string{"apiserver-0", "apiserver-1"}, Certified: []string{"apiserver-0", "apiserver-1"},
		Clients: []string{"writer-0", "watcher-0", "watcher-1"}, Consumers: []string{"watcher-0", "watcher-1"}, Programs: []string{"controller"},
	}
}

func TestCheckNamesWhatCannotFire(t *testing.T) {
	single := topology()
	single.Members = single.Members[:1]
	for _, row := range []struct {
		line     string
		topology Topology
		want     string
	}{
		{"at 1s etcd-restart member=etcd-2", topology(), ""},
		{"at 1s etcd-restart member=etcd-2", single, `expected member to be one of [etcd-0], found "etcd-2"`},
		{"at 1s etcd-restart member=apiserver-0", topology(), `found "apiserver-0"`},
		{"at 1s quorum-loss survivor=etcd-2 down=1s", topology(), ""},
		{"at 1s quorum-loss survivor=etcd-0 down=1s", single, "expected at least 3 etcd members, found 1"},
		{"at 1s reset from=watcher-0 to=apiserver-1", topology(), ""},
		{"at 1s reset from=etcd-0 to=etcd-9", topology(), `expected to to be one of`},
		{"at 1s reset from=etcd-0 to=etcd-0", topology(), "found etcd-0 at both ends"},
		{"at 1s watch-break server=apiserver-9", topology(), `found "apiserver-9"`},
		{"at 1s certificate-expiry server=apiserver-1 for=1s", topology(), ""},
		{"at 1s certificate-expiry server=apiserver-1 for=1s", Topology{Servers: []string{"apiserver-1"}}, "expected server to be one of"},
		{"at 1s stalled-consumer client=watcher-1 for=1s", topology(), ""},
		{"at 1s stalled-consumer client=writer-0 for=1s", topology(), `found "writer-0"`},
		{"between 1s and 2s on list 1 of apiserver-1 leader-move", topology(), ""},
		{"between 1s and 2s on list 1 of etcd-1 leader-move", topology(), `expected list of one of [apiserver-0 apiserver-1], found "etcd-1"`},
		{"at 60s leader-move", topology(), ""},
		{"at 61s leader-move", topology(), "expected it to be over within the run, which takes 1m0s, found 1m1s"},
		{"at 1s etcd-crash member=etcd-0 down=60s", topology(), "found 1m1s"},
		{"between 1s and 61s on list 1 of apiserver-0 leader-move", topology(), "found 1m1s"},
		{"at 1s etcd-crash member=etcd-0 down=2s\nat 3s etcd-restart member=etcd-0", topology(), ""},
		{"at 1s etcd-crash member=etcd-0 down=2s\nat 2s etcd-restart member=etcd-1", topology(), ""},
		{"at 1s etcd-crash member=etcd-0 down=2s\nat 2s etcd-restart member=etcd-0", topology(),
			`"at 2s etcd-restart member=etcd-0": expected "at 1s etcd-crash member=etcd-0 down=2s" to be over or yet to come, found that both act on etcd-0`},
		{"at 2s etcd-restart member=etcd-0\nat 1s quorum-loss survivor=etcd-1 down=2s", topology(), `found that both act on etcd-0`},
		{"at 2s leader-move\nat 2s leader-move", topology(), `found that both act on etcd-0`},
		{"at 2s partition from=etcd-0 to=etcd-1 for=1s\nat 2.5s black-hole from=etcd-1 to=etcd-0 for=2s", topology(),
			`found that both act on the link of etcd-0 and etcd-1`},
		{"at 1s etcd-restart member=etcd-7", topology(), "line 1, column 20: expected member"},
		{"# watchsim plan v1\n\n  at 1s reset from=etcd-0 to=etcd-7 # no such member\n", topology(), "line 3, column 27: expected to to be"},
		{"at 1s leader-move\nat 5s reset to=etcd-0  from=etcd-0", topology(), "line 2, column 13: expected a link between two processes"},
		{"at 1s slow-link from=\u00e4tcd to=etcd-0 rate=1 for=1s", topology(), "line 1, column 17: expected from"},
		{"between 1s and 2s on list 1 of etcd-1 leader-move", topology(), "line 1, column 32: expected list of one of"},
		{"at 1s leader-move\nat 2h  leader-move", topology(), "line 2, column 4: expected it to be over"},
		{"between 1s and 2h on list 1 of apiserver-0 stalled-consumer client=watcher-0 for=1s", topology(), "line 1, column 16: expected it to be over"},
		{"at 1s etcd-crash member=etcd-0 down=2s\n\nat 2s etcd-restart member=etcd-0", topology(), `line 3, column 1: expected "at 1s etcd-crash member=etcd-0 down=2s" of line 1 to be over or yet to come`},
		{"at 1s quorum-loss down=1s survivor=etcd-0", single, "line 1, column 7: expected at least 3 etcd members, found 1"},
	} {
		plan, err := Parse(row.line)
		require.NoError(t, err)
		err = plan.Check(row.topology, time.Minute)
		switch {
		case row.want == "":
			require.NoError(t, err)
		case strings.HasPrefix(row.want, "line"):
			require.ErrorContains(t, Locate(err, row.line), row.want)
			require.ErrorAs(t, Locate(err, row.line), new(*Misfit))
		default:
			require.ErrorContains(t, err, row.want)
		}
	}
	require.ErrorContains(t, Plan{{Kind: "earthquake"}}.Check(topology(), 0), `found "earthquake"`)
}

func TestLocateLeavesOtherErrors(t *testing.T) {
	drawn := Plan{{Kind: "earthquake"}}.Check(topology(), 0)
	require.Equal(t, drawn, Locate(drawn, ""))
	other := errors.New("another error")
	require.Equal(t, other, Locate(other, "at 1s leader-move"))
	require.NoError(t, Locate(nil, "at 1s leader-move"))
}
