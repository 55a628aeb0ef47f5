package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/watchsim/watchsim/simtest"

	v1 "github.com/watchsim/watchsim/examples/operator/api/v1"
)

// byName is the environment variable that has the operator make the mistake of releaseByName.
const byName = "RELEASE_BY_NAME"

func options() Options { return Options{Metrics: "0", ReleaseByName: os.Getenv(byName) != ""} }

// within is how long the user goes on, and how long things go wrong.
const within = 20 * time.Second

// A database keeps its volumes as long as it lives, and leaves nothing behind.
func TestDatabase(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	simtest.Seeds(t, simtest.Config{Servers: 2, CRDs: []string{"crd"}}, func(t *simtest.T, c *simtest.Cluster) {
		c.Go("operator", func(ctx context.Context, config *rest.Config) error { return Run(ctx, config, options()) })
		c.Faults(within)
		u := newUser(t, t.Context(), c.Config())
		u.use(func() bool {
			t.Sometimes("a database with volumes", len(u.volumes) > 0)
			return c.Now() < within
		})
		u.create()
		c.Eventually(u.asWanted)
		u.keepsVolumes()
		u.delete()
		c.Eventually(u.nothingLeft)
	})
}

var name = types.NamespacedName{Namespace: "default", Name: "db"}

// user uses one database after another, all of one name.
type user struct {
	t       testing.TB
	ctx     context.Context
	client  client.Client
	size    int32
	volumes map[string]types.UID // those that the database has had
}

func newUser(t testing.TB, ctx context.Context, config *rest.Config) *user {
	scheme, err := Scheme()
	require.NoError(t, err)
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return &user{t: t, ctx: ctx, client: c}
}

// use creates, resizes and deletes one database after another.
func (u *user) use(more func() bool) {
	for more() {
		u.create()
		for range 1 + rand.IntN(2) {
			for range 10 {
				time.Sleep(200 * time.Millisecond)
				if u.asWanted() == nil {
					break
				}
			}
			time.Sleep(rand.N(2 * time.Second)) // it is in use
			u.keepsVolumes()
			u.size = rand.Int32N(3) + 1
			u.do(func() error {
				return u.client.Patch(u.ctx, u.database(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, u.size)))
			})
		}
		u.keepsVolumes()
		u.delete()
		time.Sleep(rand.N(time.Second))
	}
}

func (u *user) database() *v1.Database {
	return &v1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
}

// do makes a request until it succeeds. What it is about exists.
func (u *user) do(request func() error) {
	for err := request(); err != nil; err = request() {
		require.False(u.t, apierrors.IsNotFound(err), "%v", err)
		time.Sleep(100 * time.Millisecond)
	}
}

func (u *user) create() {
	u.volumes, u.size = map[string]types.UID{}, rand.Int32N(3)+1
	database := u.database()
	database.Spec.Size = u.size
	database.Finalizers = []string{backup}
	u.do(func() error {
		err := u.client.Create(u.ctx, database.DeepCopyObject().(client.Object))
		if apierrors.IsAlreadyExists(err) {
			return nil // by a request whose answer was lost
		}
		return err
	})
}

// backup is a finalizer of the user, who takes a while for a last look at the database.
const backup = "example.com/backup"

func (u *user) delete() {
	u.do(func() error { return u.client.Delete(u.ctx, u.database()) })
	time.Sleep(rand.N(3 * time.Second))
	u.do(func() error {
		database := u.database()
		err := u.client.Get(u.ctx, name, database)
		if err == nil && controllerutil.RemoveFinalizer(database, backup) {
			err = u.client.Update(u.ctx, database)
		}
		return client.IgnoreNotFound(err)
	})
	u.do(func() error {
		if err := u.client.Get(u.ctx, name, u.database()); !apierrors.IsNotFound(err) {
			return fmt.Errorf("expected no database, found %v", err)
		}
		return nil
	})
}

// asWanted returns an error until the database has as many servers as its user wants. It
// remembers the volumes that the database has.
func (u *user) asWanted() error {
	database := u.database()
	if err := u.client.Get(u.ctx, name, database); err != nil {
		return err
	}
	var volumes corev1.PersistentVolumeClaimList
	if err := u.client.List(u.ctx, &volumes); err != nil {
		return err
	}
	for _, volume := range volumes.Items {
		if isFor(&volume, database) && u.volumes[volume.Name] == "" {
			u.volumes[volume.Name] = volume.UID
		}
	}
	if database.Status.Size != u.size || database.Status.ObservedGeneration != database.Generation {
		return fmt.Errorf("expected %d servers, found %+v", u.size, database.Status)
	}
	return nil
}

// keepsVolumes checks that the database has all volumes that it has had: nobody deletes it.
func (u *user) keepsVolumes() {
	u.do(func() error {
		var volumes corev1.PersistentVolumeClaimList
		err := u.client.List(u.ctx, &volumes)
		found := map[string]types.UID{}
		for _, volume := range volumes.Items {
			found[volume.Name] = volume.UID
		}
		for volume, uid := range u.volumes {
			if err == nil && found[volume] != uid {
				u.t.Fatalf("the database lives, but its volume %s is lost: expected UID %s, found %q", volume, uid, found[volume])
			}
		}
		return err
	})
}

func (u *user) nothingLeft() error {
	var pods corev1.PodList
	var volumes corev1.PersistentVolumeClaimList
	if err := u.client.List(u.ctx, &pods); err != nil {
		return err
	}
	if err := u.client.List(u.ctx, &volumes); err != nil {
		return err
	}
	if left := len(pods.Items) + len(volumes.Items); left > 0 {
		return fmt.Errorf("expected that nothing is left of deleted databases, found %d pods and volumes", left)
	}
	return nil
}
