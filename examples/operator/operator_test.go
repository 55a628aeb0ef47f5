package main

import (
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
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

// byName is the environment variable that turns on the bug of releaseByName.
const byName = "RELEASE_BY_NAME"

func options() Options { return Options{Metrics: "0", ReleaseByName: os.Getenv(byName) != ""} }

// crds are embedded, as simrun runs the binary in another folder.
//
//go:embed crd
var crds embed.FS

// within is how long the user acts and faults happen.
const within = time.Minute

// Databases keep their volumes as long as they exist, and leave nothing behind.
func TestDatabase(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	definitions := t.TempDir()
	require.NoError(t, os.CopyFS(definitions, crds))
	simtest.Seeds(t, simtest.Config{Servers: 2, CRDs: []string{definitions + "/crd"}}, func(t *simtest.T, c *simtest.Cluster) {
		c.Go("operator", func(ctx context.Context, config *rest.Config) error { return Run(ctx, config, options()) })
		c.Faults(within)
		u := newUser(t, t.Context(), c.Config())
		for c.Now() < within {
			u.act()
			t.Sometimes("a database with volumes", u.hasVolumes())
		}
		c.Eventually(u.nothingLeft)
		u.createAll()
		c.Eventually(u.asWanted)
		u.deleteAll()
		c.Eventually(u.nothingLeft)
	})
}

// user creates, resizes and deletes databases, reusing the same names.
type user struct {
	t         testing.TB
	ctx       context.Context
	client    client.Client
	databases []*database
	pace      time.Duration // the longest pause between two actions
}

// database is a database as its user wants it.
type database struct {
	v1.Database
	state   state
	volumes map[string]types.UID // all volumes that it has had
	most    int32                // the largest size requested so far
}

type state int

const (
	absent state = iota
	living
	deleted // by the user, whose finalizer remains
)

// backup is the finalizer of the user, who takes a while for a last backup of a database.
const backup = "example.com/backup"

func newUser(t testing.TB, ctx context.Context, config *rest.Config) *user {
	scheme, err := Scheme()
	require.NoError(t, err)
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	u := &user{t: t, ctx: ctx, client: c, pace: time.Millisecond + rand.N(500*time.Millisecond)}
	for _, name := range []string{"db-a", "db-b", "db-c"} {
		u.databases = append(u.databases, &database{Database: v1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}})
	}
	return u
}

// maxSize is the largest size of a database.
const maxSize = 3

// act does the next thing with one of the databases, and checks all.
func (u *user) act() {
	d := u.databases[rand.IntN(len(u.databases))]
	switch {
	case d.state == absent:
		u.create(d)
	case d.state == deleted:
		u.letGo(d)
	case rand.IntN(4) > 0:
		u.resize(d)
	default:
		u.delete(d)
	}
	time.Sleep(rand.N(u.pace))
	u.look()
}

// look checks invariants of existing databases.
func (u *user) look() {
	for _, d := range u.databases {
		if d.state == living {
			u.keepVolumes(d)
			u.countPods(d)
		}
	}
}

// do retries a request until it succeeds. Its object exists.
func (u *user) do(request func() error) {
	for err := request(); err != nil; err = request() {
		require.False(u.t, apierrors.IsNotFound(err), "%v", err)
		time.Sleep(100 * time.Millisecond)
	}
}

func (u *user) create(d *database) {
	d.Spec.Size = rand.Int32N(maxSize) + 1
	wanted := v1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, Finalizers: []string{backup}}, Spec: d.Spec}
	u.do(func() error {
		err := u.client.Create(u.ctx, wanted.DeepCopyObject().(client.Object))
		if apierrors.IsAlreadyExists(err) {
			return nil // by an earlier request whose answer was lost
		}
		return err
	})
	u.do(func() error { return u.client.Get(u.ctx, client.ObjectKeyFromObject(d), &d.Database) })
	d.state, d.volumes, d.most = living, map[string]types.UID{}, d.Spec.Size
}

func (u *user) resize(d *database) {
	size := rand.Int32N(maxSize) + 1
	d.most = max(d.most, size)
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, size))
	u.do(func() error { return u.client.Patch(u.ctx, &d.Database, patch) })
}

func (u *user) delete(d *database) {
	// A request that timed out may still arrive when the database has been recreated.
	u.do(func() error { return u.client.Delete(u.ctx, &d.Database, client.Preconditions{UID: &d.UID}) })
	d.state = deleted
}

// letGo removes the user's finalizer and checks whether the database is gone.
func (u *user) letGo(d *database) {
	u.do(func() error {
		err := u.client.Get(u.ctx, client.ObjectKeyFromObject(d), &d.Database)
		if err == nil && controllerutil.RemoveFinalizer(&d.Database, backup) {
			err = u.client.Update(u.ctx, &d.Database)
		}
		if apierrors.IsNotFound(err) {
			d.state = absent
			return nil
		}
		return err
	})
}

func (u *user) createAll() {
	for _, d := range u.databases {
		for d.state == deleted {
			u.letGo(d)
			time.Sleep(100 * time.Millisecond)
		}
		if d.state == absent {
			u.create(d)
		}
	}
}

func (u *user) deleteAll() {
	for _, d := range u.databases {
		u.delete(d)
		for d.state == deleted {
			u.letGo(d)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (u *user) hasVolumes() bool {
	return slices.ContainsFunc(u.databases, func(d *database) bool { return d.state == living && len(d.volumes) > 0 })
}

// asWanted returns an error until all databases have the requested number of servers, and no other pods.
func (u *user) asWanted() error {
	u.look()
	for _, d := range u.databases {
		if err := u.client.Get(u.ctx, client.ObjectKeyFromObject(d), &d.Database); err != nil {
			return err
		}
		if d.Status.Size != d.Spec.Size || d.Status.ObservedGeneration != d.Generation {
			return fmt.Errorf("expected that %s has %d servers, found %+v", d.Name, d.Spec.Size, d.Status)
		}
		if has := u.podsOf(d); int32(len(has)) != d.Spec.Size {
			return fmt.Errorf("expected that %s has %d pods, found %q", d.Name, d.Spec.Size, has)
		}
	}
	return nil
}

// keepVolumes checks that an existing database has kept all volumes that it has had, and records new ones.
func (u *user) keepVolumes(d *database) {
	for server := range maxSize {
		volume := volumeOf(&d.Database, server)
		key := client.ObjectKeyFromObject(volume)
		u.do(func() error {
			*volume = corev1.PersistentVolumeClaim{}
			return client.IgnoreNotFound(u.client.Get(u.ctx, key, volume))
		})
		if had := d.volumes[key.Name]; had != "" && volume.UID != had {
			u.t.Fatalf("%s lives, but its volume %s is lost: expected UID %s, found %q", d.Name, key.Name, had, volume.UID)
		}
		if isFor(volume, &d.Database) {
			d.volumes[key.Name] = volume.UID
		}
	}
}

// countPods checks that an existing database has no more pods than the user has ever requested.
func (u *user) countPods(d *database) {
	if has := u.podsOf(d); int32(len(has)) > d.most {
		u.t.Fatalf("%s has %d pods, and the user has asked for %d at most: %q", d.Name, len(has), d.most, has)
	}
}

// podsOf returns the names of a database's pods that are not terminating.
func (u *user) podsOf(d *database) (names []string) {
	var pods corev1.PodList
	u.do(func() error { return u.client.List(u.ctx, &pods, client.MatchingLabels{uidLabel: string(d.UID)}) })
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp.IsZero() {
			names = append(names, pod.Name)
		}
	}
	return names
}

// nothingLeft returns an error until all objects of deleted databases are gone.
func (u *user) nothingLeft() error {
	all, err := listAll(u.ctx, u.client)
	if err != nil {
		return err
	}
	var left []string
	for _, object := range all {
		if !slices.ContainsFunc(u.databases, func(d *database) bool { return d.state != absent && isFor(object, &d.Database) }) {
			left = append(left, object.GetName())
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("expected that nothing is left of deleted databases, found %q", left)
	}
	return nil
}
