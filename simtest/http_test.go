package simtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/watchsim/watchsim/simtest"
)

// clients has some of each sort of client ask two API servers for anything that they can, of several resources, in any
// encoding, while faults happen. What they are answered is judged by the oracle, and informers have what is there in the end.
func clients(t *testing.T, config simtest.Config) {
	config.CRDs = []string{"testdata/crds"}
	simtest.Seeds(t, config, func(t *simtest.T, c *simtest.Cluster) {
		const within = 30 * time.Second
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
		for what, times := range use.did {
			t.Sometimes(what, times > 0)
		}
	})
}

// TestClients is with Kubernetes' cache.
func TestClients(t *testing.T) { clients(t, simtest.Config{Servers: 2}) }

// TestClientsOfWatchsim is with the project's own.
func TestClientsOfWatchsim(t *testing.T) {
	clients(t, simtest.Config{Servers: 2, Cache: simtest.Watchsim})
}

// TestClientsOfManyServers is with three API servers over three etcd members.
func TestClientsOfManyServers(t *testing.T) {
	clients(t, simtest.Config{Servers: 3, Members: 3})
}

// has is an error unless the informer has what is in a list.
func (i *informed) has(list *metav1.PartialObjectMetadataList) error {
	store := i.store()
	if store == nil {
		return errors.New("an informer has not started")
	}
	want := map[string]string{}
	for _, object := range list.Items {
		want[object.Namespace+"/"+object.Name] = object.ResourceVersion
	}
	have := store.List()
	for _, object := range have {
		of, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		key := of.GetNamespace() + "/" + of.GetName()
		if version := want[key]; version != of.GetResourceVersion() {
			return fmt.Errorf("expected an informer of %s to have %s at resourceVersion %q, found %s", i.of.Resource, key, version, of.GetResourceVersion())
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("expected an informer of %s to have %d objects, found %d", i.of.Resource, len(want), len(have))
	}
	return nil
}
