package cacher

import (
	"context"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/delegator"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
)

// listPlan says how to serve a list.
type listPlan struct {
	// delegate says that the storage must serve it.
	delegate bool
	// consistent says that the list must show every write that has returned.
	consistent bool
	// exact says that it must show the state at rv; otherwise at rv or later.
	exact bool
	rv    uint64
	// from is the first key of the page.
	from string
}

// planList decides how a list is served, after
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions-in-metadata.
func (c *Cacher) planList(key string, options storage.ListOptions) (listPlan, error) {
	rv, err := c.config.Versioner.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return listPlan{}, err
	}
	page := options.Predicate
	switch {
	case options.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		return c.planExact(rv, "", options.Recursive), nil
	case options.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan:
		return listPlan{rv: rv}, nil
	case options.ResourceVersionMatch != "":
		return listPlan{delegate: true}, nil
	case page.Continue != "" && !options.Recursive:
		return listPlan{delegate: true}, nil
	case page.Continue != "":
		from, continued, err := storage.DecodeContinue(page.Continue, key)
		if err != nil {
			return listPlan{}, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
		}
		if continued > 0 {
			return c.planExact(uint64(continued), from, true), nil
		}
		// The token was returned with a 410, for continuing inconsistently.
		plan := c.planConsistent(from)
		plan.delegate = plan.delegate || !c.servesPast()
		return plan, nil
	case page.Limit > 0 && rv != 0:
		return c.planExact(rv, "", options.Recursive), nil
	case options.ResourceVersion == "":
		return c.planConsistent(""), nil
	default:
		return listPlan{rv: rv}, nil
	}
}

func (c *Cacher) planConsistent(from string) listPlan {
	return listPlan{consistent: true, delegate: !delegator.ConsistentReadSupported(), from: from}
}

func (c *Cacher) planExact(rv uint64, from string, recursive bool) listPlan {
	plan := listPlan{exact: true, rv: rv, from: from}
	switch {
	case !recursive || !c.servesPast():
		plan.delegate = true
	case c.state.reached(rv):
		plan.delegate = !c.state.canServe(rv)
	default:
		plan.delegate = !delegator.ConsistentReadSupported()
	}
	return plan
}

// servesPast reports whether the cache serves past states at all.
func (c *Cacher) servesPast() bool { return c.snapshotting && c.state.servesPast() }

// GetList implements storage.Interface.
func (c *Cacher) GetList(ctx context.Context, key string, options storage.ListOptions, out runtime.Object) error {
	if _, _, err := storage.ValidateListOptions(c.config.ResourcePrefix, c.config.Versioner, options); err != nil {
		return err
	}
	prepared, err := storage.PrepareKey(c.config.ResourcePrefix, key, options.Recursive)
	if err != nil {
		return err
	}
	plan, err := c.planList(prepared, options)
	if err != nil {
		return err
	}
	if plan.delegate || c.mustDelegate(options) {
		return c.config.Storage.GetList(ctx, key, options, out)
	}
	err = c.listCached(ctx, prepared, plan, options, out)
	fallback := "false"
	switch {
	case apierrors.IsResourceExpired(err) && c.snapshotting:
		// The state has just been discarded; the storage may still have it.
		return c.config.Storage.GetList(ctx, key, options, out)
	case !plan.consistent:
		return err
	case storage.IsTooLargeResourceVersion(err) && utilfeature.DefaultFeatureGate.Enabled(features.ConsistentListFromCacheSkipTimeoutFallback):
		fallback, err = "skipped", apierrors.NewTooManyRequests(err.Error(), tooLargeRetrySeconds)
	case storage.IsTooLargeResourceVersion(err):
		fallback, err = "true", c.config.Storage.GetList(ctx, key, options, out)
	}
	c.metrics.consistentRead(err == nil, fallback)
	return err
}

// mustDelegate reports whether a list goes to the storage because the cache is not ready: one of
// bounded cost. Other clients must retry.
func (c *Cacher) mustDelegate(options storage.ListOptions) bool {
	predicate := options.Predicate
	selects := predicate.Label != nil && !predicate.Label.Empty() || predicate.Field != nil && !predicate.Field.Empty()
	return predicate.Limit > 0 && !selects && !c.Ready()
}

// listCached serves a list from the cache.
func (c *Cacher) listCached(ctx context.Context, key string, plan listPlan, options storage.ListOptions, out runtime.Object) error {
	ctx, span := tracing.Start(ctx, "cacher.GetList",
		attribute.String("audit-id", audit.GetAuditIDTruncated(ctx)),
		attribute.Stringer("type", c.config.GroupResource))
	defer span.End(traceThreshold)
	if err := c.state.checkReady(); err != nil {
		return err
	}
	items, err := itemsOf(out)
	if err != nil {
		return err
	}
	from, rv, err := c.reach(ctx, plan)
	if err != nil {
		return err
	}
	span.AddEvent("Fresh enough")
	found := selection{predicate: options.Predicate, limit: listLimit(options)}
	if err := found.collect(ctx, from, key, plan.from, options.Recursive); err != nil {
		return err
	}
	span.AddEvent("Selected objects", attribute.Int("count", len(found.objects)))
	items.Set(reflect.MakeSlice(items.Type(), len(found.objects), len(found.objects)))
	for i, e := range found.objects {
		items.Index(i).Set(reflect.ValueOf(e.object).Elem())
	}
	next, remaining, err := storage.PrepareContinueToken(found.last, key, int64(rv), int64(found.total), found.more, options)
	if err != nil {
		return err
	}
	if err := c.config.Versioner.UpdateList(out, rv, next, remaining); err != nil {
		return err
	}
	options.Predicate.SetShardInfoOnList(out)
	c.metrics.listed(found.index, found.total, len(found.objects))
	return nil
}

// itemsOf returns the slice of a list object.
func itemsOf(list runtime.Object) (reflect.Value, error) {
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return reflect.Value{}, err
	}
	items, err := conversion.EnforcePtr(pointer)
	if err == nil && items.Kind() != reflect.Slice {
		err = fmt.Errorf("need a pointer to slice, got %v", items.Kind())
	}
	return items, err
}

// reach waits until a list can be served, and returns the objects to serve and their RV.
func (c *Cacher) reach(ctx context.Context, plan listPlan) (*tree, uint64, error) {
	rv := plan.rv
	if plan.consistent {
		var err error
		if rv, err = c.config.Storage.GetCurrentResourceVersion(ctx); err != nil {
			return nil, 0, err
		}
	}
	if err := c.waitFresh(ctx, rv); err != nil {
		return nil, 0, err
	}
	if !plan.exact {
		current, at := c.state.latest()
		return current, at, nil
	}
	past, held := c.state.at(rv)
	if !held {
		return nil, 0, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d", rv))
	}
	return past, rv, nil
}

// listLimit returns the number of objects on a page, 0 for no limit. With RV 0 the API has always
// ignored limits.
func listLimit(options storage.ListOptions) int {
	if options.ResourceVersion == "0" {
		return 0
	}
	return int(options.Predicate.Limit)
}

// selection is the objects of one page.
type selection struct {
	predicate storage.SelectionPredicate
	limit     int // 0 for none

	objects []*element
	last    string // the key of the last of them
	total   int    // how many objects were looked at; with more, and no selector, how many there are
	more    bool   // whether there are objects beyond the page
	index   string // which index was used, if any
	err     error
}

// collect visits the objects below a key, starting at a key, and takes those that match.
func (s *selection) collect(ctx context.Context, from *tree, key, start string, recursive bool) error {
	everything := s.predicate.Empty()
	visit := func(e *element) bool {
		if s.limit > 0 && len(s.objects) >= s.limit {
			// All that remain are counted if the count is told.
			s.more = true
			s.total++
			return everything
		}
		s.total++
		if everything || s.matches(e) {
			s.objects = append(s.objects, e)
			s.last = e.key
		}
		return s.err == nil
	}
	if !recursive {
		if e := from.get(key); e != nil {
			visit(e)
		}
		return s.err
	}
	for _, match := range s.predicate.MatcherIndex(ctx) {
		if from.hasIndex(match.IndexName) {
			s.index = match.IndexName
			from.ascendIndex(match.IndexName, match.Value, key, start, visit)
			return s.err
		}
	}
	from.ascend(key, start, visit)
	return s.err
}

func (s *selection) matches(e *element) bool {
	if s.predicate.ShardSelector != nil {
		// Without one this would still look up a feature gate for each object.
		matched, err := s.predicate.MatchesSharding(e.object)
		if err != nil {
			s.err = fmt.Errorf("shard of %s: %w", e.key, err)
		}
		if err != nil || !matched {
			return false
		}
	}
	return s.predicate.MatchesObjectAttributes(e.labels, e.fields)
}
