//go:build watchsim

package simtest_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	tableFlag = flag.String("table", "", "TestTable writes its results to this file, as benchmarks do")
	workFlag  = flag.Duration("work", 50*time.Millisecond, "how long a processor of an API server works on a request of TestTable")
	plainFlag = flag.Bool("plain", false, "informers of TestTable begin with plain lists")
	sizesFlag = flag.String("watches", "100,500,1000,2000,5000", "how many watches there are in the storms of TestTable")
)

// bothCaches are the keys of caches, in the order in which storms run.
var bothCaches = []string{"kubernetes", "cacher"}

// maxLists is how many lists may reach etcd because a server restarts: one for each resource that
// it serves, however many clients return. Other range requests also occur, such as reads of leases
// and of objects to be written.
const (
	maxLists = 30
	maxReads = 200
)

// TestSmallStorm requires all informers to become current again, with no event lost (runner.check compares them
// with the stored objects), and the load on etcd to be independent of their number. The same storm is the same run.
func TestSmallStorm(t *testing.T) {
	var again []outcome
	for _, cache := range bothCaches {
		for _, s := range []setup{{Servers: 1}, {Servers: 1}, {Servers: 1, Plain: true}, {Servers: 3}} {
			s.Cache, s.Watches, s.Work = cache, 200, 10*time.Millisecond
			o := storm(t, s)
			require.Equal(t, s.Watches, o.Current, s)
			require.NotZero(t, o.EtcdLists, s)
			require.LessOrEqual(t, o.EtcdLists, float64(maxLists), s)
			require.LessOrEqual(t, o.EtcdReads, float64(maxReads), s)
			require.Equal(t, s.Servers == 1, o.Lists+o.Streams > s.Watches/2, "only if no other server is there do they list again: %v", s)
			require.Equal(t, s.Servers == 1, o.All > downTime, "other servers take over at once: %v", s)
			o.MiB = 0 // the Go runtime allocates a little by itself
			again = append(again, o)
		}
	}
	require.Equal(t, again[0], again[1])
	require.Equal(t, again[4], again[5])
}

// TestFullQueues has more requests than seats and places in queues, so that some are rejected and
// their clients retry.
func TestFullQueues(t *testing.T) {
	o := storm(t, setup{Cache: "kubernetes", Servers: 1, Watches: 200, Work: 2 * time.Second})
	require.NotZero(t, o.Rejected)
	require.NotZero(t, o.TooMany)
	require.Equal(t, 200, o.Current)
}

// TestTable makes the table of docs/watch-storm.md, if -table is given.
func TestTable(t *testing.T) {
	if *tableFlag == "" {
		t.Skip("make watch-storm runs it")
	}
	var results strings.Builder
	fmt.Fprintf(&results, "work: %v on each of %d processors\n", *workFlag, processors)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "watches\tcache\tservers\trequests\tlists\t429\trejected\tetcd lists\tetcd reads\thalf current s\tall current s\tallocated MiB\thash\t")
	for _, size := range strings.Split(*sizesFlag, ",") {
		for _, servers := range []int{1, 3} {
			for _, cache := range bothCaches {
				s := setup{Cache: cache, Servers: servers, Work: *workFlag, Plain: *plainFlag}
				_, err := fmt.Sscan(size, &s.Watches)
				require.NoError(t, err)
				o := storm(t, s)
				require.Equal(t, s.Watches, o.Current, s)
				fmt.Fprintf(table, "%d\t%s\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f\t%.0f\t%x\t\n", s.Watches, cache, servers,
					o.Requests, o.Lists+o.Streams, o.TooMany, o.Rejected, o.EtcdLists, o.EtcdReads, o.Half.Seconds(), o.All.Seconds(), o.MiB, o.Hash)
				fmt.Fprintf(&results, "BenchmarkStorm/watches=%d/served=%s-%s 1 %d requests %d 429s %.0f etcd-lists %.2f half-s %.2f all-s %.0f MiB\n",
					s.Watches, cache, map[int]string{1: "alone", 3: "of-three"}[servers], o.Requests, o.TooMany, o.EtcdLists, o.Half.Seconds(), o.All.Seconds(), o.MiB)
			}
		}
	}
	require.NoError(t, table.Flush())
	require.NoError(t, os.WriteFile(*tableFlag, []byte(results.String()), 0o644))
}
