package leaderworkersets

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// revisions are the ControllerRevisions, which the API server does not serve: they are in controller-runtime's fake client. Those that have not existed for long
// are missing in lists, as in those of a cache whose watch lags. Lists are in random order, as those of a cache.
type revisions struct {
	client.Client
	lag atomic.Int64

	mu      sync.Mutex
	created map[types.NamespacedName]time.Time
}

func newRevisions(scheme *runtime.Scheme) *revisions {
	return &revisions{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), created: map[types.NamespacedName]time.Time{}}
}

func (r *revisions) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	err := r.Client.Create(ctx, object, options...)
	if err == nil {
		r.mu.Lock()
		r.created[client.ObjectKeyFromObject(object)] = time.Now()
		r.mu.Unlock()
	}
	return err
}

func (r *revisions) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := r.Client.List(ctx, list, options...)
	r.mu.Lock()
	defer r.mu.Unlock()
	all := list.(*appsv1.ControllerRevisionList)
	all.Items = slices.DeleteFunc(all.Items, func(revision appsv1.ControllerRevision) bool {
		return time.Since(r.created[client.ObjectKeyFromObject(&revision)]) < time.Duration(r.lag.Load())
	})
	rand.Shuffle(len(all.Items), func(i, j int) { all.Items[i], all.Items[j] = all.Items[j], all.Items[i] })
	return err
}

// DeleteRevisions deletes the ControllerRevisions of a set, observed or not.
func (c *Cluster) DeleteRevisions(set string) {
	rig.Must(c.revisions.DeleteAllOf(ctx, &appsv1.ControllerRevision{}, client.InNamespace(server.Namespace), client.MatchingLabels{lwsv1.SetNameLabelKey: set}))
}

// split is the client of the controllers: that of the API server, but for ControllerRevisions.
type split struct {
	client.Client
	revisions *revisions
}

// of returns the client for an object or a list.
func (s *split) of(o runtime.Object) client.Client {
	switch o.(type) {
	case *appsv1.ControllerRevision, *appsv1.ControllerRevisionList:
		return s.revisions
	}
	return s.Client
}

func (s *split) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return s.of(object).Create(ctx, object, options...)
}

func (s *split) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return s.of(list).List(ctx, list, options...)
}

func (s *split) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return s.of(object).Delete(ctx, object, options...)
}
