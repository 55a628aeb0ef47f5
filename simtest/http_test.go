package simtest_test

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/watchsim/watchsim/simtest"
)

// clients has clients of each kind send any request they can to several API servers, for several resources, in any encoding,
// while faults happen. The oracle judges the answers, and informers must converge.
func clients(t *testing.T, config simtest.Config) {
	definitions := t.TempDir()
	require.NoError(t, os.CopyFS(definitions, crds))
	config.CRDs, config.KMS = []string{definitions + "/testdata/crds"}, true
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		const within = 30 * time.Second
		c.EncryptAtRest(within)
		use := &usage{
			until: time.Now().Add(within), known: map[string][]string{}, resources: rand.Perm(len(asked))[:1+rand.IntN(len(asked))],
			pace: oneOf(5*time.Millisecond, 50*time.Millisecond, 500*time.Millisecond), large: rand.IntN(4) == 0,
		}
		for i := range 1 + rand.IntN(3) {
			c.Go(fmt.Sprintf("writer-%d", i), use.write)
		}
		for i := range rand.IntN(4) {
			c.Go(fmt.Sprintf("reader-%d", i), use.read)
		}
		for i := range rand.IntN(4) {
			c.Go(fmt.Sprintf("watcher-%d", i), use.watch)
		}
		var informed []*informed
		for i := range rand.IntN(4) {
			one := use.informer()
			informed = append(informed, one)
			c.Go(fmt.Sprintf("informer-%d", i), one.run)
		}
		c.Faults(within)
		time.Sleep(within)
		objects, err := metadata.NewForConfig(c.Config())
		require.NoError(t, err)
		c.Eventually(func() error {
			for _, one := range informed {
				list, err := objects.Resource(one.of.GroupVersionResource).Namespace(one.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: one.labels})
				if err != nil {
					return err
				}
				if err := one.has(list); err != nil {
					return err
				}
			}
			return nil
		})
		t.Sometimes("an outage of the KMS keeps a server from decrypting", c.KeyMissed())
		for what, times := range use.did {
			t.Sometimes(what, times > 0)
		}
	})
}

// crds are embedded, as simrun runs the binary in another folder.
//
//go:embed testdata/crds
var crds embed.FS

// API servers with these caches keep events for ten seconds. One of them also serves CBOR, and stores custom resources in it,
// which is an alpha feature (CBORServingAndStorage).
const (
	briefKubernetes simtest.Cache = "kubernetes with brief events"
	briefWatchsim   simtest.Cache = "watchsim with brief events"
	cborKubernetes  simtest.Cache = "kubernetes with brief events and CBOR"
)

// A hundred seeds, the default, of all tests here take ten minutes. Campaigns run more.
func init() {
	if err := flag.Set("simtest.seeds", "40"); err != nil {
		panic(err)
	}
}

// TestClients uses Kubernetes' cache.
func TestClients(t *testing.T) { clients(t, simtest.Config{Servers: 2, Cache: briefKubernetes}) }

// TestClientsOfWatchsim uses the project's own.
func TestClientsOfWatchsim(t *testing.T) {
	clients(t, simtest.Config{Servers: 2, Cache: briefWatchsim})
}

// TestClientsOfManyServers has three API servers and three etcd members.
func TestClientsOfManyServers(t *testing.T) {
	clients(t, simtest.Config{Servers: 3, Members: 3, Cache: cborKubernetes})
}

// askedOf is a resource that clients request.
type askedOf struct {
	schema.GroupVersionResource
	kind   string
	global bool
	custom bool
}

var asked = []askedOf{
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", false, false},
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", false, false},
	{schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "Node", true, false},
	{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", false, false},
	{schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", false, false},
	{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, "Lease", false, false},
	{gadgets, "Gadget", false, true},
}

var (
	// Some names and namespaces are prefixes of others, and sort in etcd before or after the slash.
	names      = []string{"a", "a-b", "a.b", "ab", "b", "c", "d", "e"}
	namespaces = []string{"default", "default-2"}
	colours    = []string{"red", "blue", "green"}
)

func oneOf[E any](all ...E) E { return all[rand.IntN(len(all))] }

// usage is the state of a run's clients. They share it without a lock, as the simulation runs one goroutine at a time.
type usage struct {
	until     time.Time
	resources []int // of asked
	pace      time.Duration
	large     bool // some objects have tens of kilobytes

	mu    sync.Mutex
	known map[string][]string // resourceVersions, by resource
	did   map[string]int
}

func (u *usage) over(ctx context.Context) bool {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rand.ExpFloat64() * float64(u.pace))):
	}
	return ctx.Err() != nil || time.Now().After(u.until)
}

// learn notes a resourceVersion that a client has seen, and that something was done.
func (u *usage) learn(of askedOf, version, what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if version != "" {
		u.known[of.Resource] = append(u.known[of.Resource], version)
	}
	if u.did == nil {
		u.did = map[string]int{}
	}
	u.did[what]++
}

// version draws a resourceVersion that a client has seen, sometimes an old one, or one that may be in the future.
func (u *usage) version(of askedOf) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.known[of.Resource]
	if len(all) == 0 || rand.IntN(20) == 0 {
		return "1"
	}
	if rand.IntN(3) == 0 {
		return oneOf(all...)
	}
	last := all[len(all)-1]
	if number, err := strconv.Atoi(last); err == nil && rand.IntN(20) == 0 {
		return strconv.Itoa(number + rand.IntN(30))
	}
	return last
}

func (u *usage) of() askedOf { return asked[oneOf(u.resources...)] }
