package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// state holds all objects that controllers reconcile.
type state struct {
	namespaces  []corev1.Namespace
	nodes       []corev1.Node
	pods        []corev1.Pod
	services    []corev1.Service
	slices      []discoveryv1.EndpointSlice
	quotas      []corev1.ResourceQuota
	deployments []appsv1.Deployment
	sets        []appsv1.ReplicaSet
	stateful    []appsv1.StatefulSet
	daemons     []appsv1.DaemonSet
	jobs        []batchv1.Job
	crons       []batchv1.CronJob
	addresses   []networkingv1.IPAddress
	budgets     []policyv1.PodDisruptionBudget
	claims      []corev1.PersistentVolumeClaim
	volumes     []corev1.PersistentVolume

	// The definitions of custom resources, their objects, as far as they could be listed, of which kinds that is, and of which it failed.
	definitions []apiextensionsv1.CustomResourceDefinition
	customs     []unstructured.Unstructured
	leftovers   []unstructured.Unstructured // of earlier definitions, which nothing is expected of
	defined     map[schema.GroupKind]bool
	unserved    []error

	// off are the nodes that accept no pods, if some may be off; otherwise nil.
	off map[string]bool

	// Operators write these all the time.
	maps    []corev1.ConfigMap
	secrets []corev1.Secret
	gauges  []unstructured.Unstructured
}

// readAll lists everything.
func readAll(ctx context.Context, client kubernetes.Interface, untyped dynamic.Interface) (*state, error) {
	s, err := read(ctx, client)
	if err != nil {
		return nil, err
	}
	return s, s.readCustom(ctx, untyped)
}

// read lists everything but custom resources.
func read(ctx context.Context, client kubernetes.Interface) (*state, error) {
	s := &state{}
	all, core, apps := metav1.ListOptions{}, client.CoreV1(), client.AppsV1()
	errs := []error{
		listed(&s.namespaces, func(l *corev1.NamespaceList) []corev1.Namespace { return l.Items })(core.Namespaces().List(ctx, all)),
		listed(&s.nodes, func(l *corev1.NodeList) []corev1.Node { return l.Items })(core.Nodes().List(ctx, all)),
		listed(&s.pods, func(l *corev1.PodList) []corev1.Pod { return l.Items })(core.Pods("").List(ctx, all)),
		listed(&s.services, func(l *corev1.ServiceList) []corev1.Service { return l.Items })(core.Services("").List(ctx, all)),
		listed(&s.addresses, func(l *networkingv1.IPAddressList) []networkingv1.IPAddress { return l.Items })(client.NetworkingV1().IPAddresses().List(ctx, all)),
		listed(&s.quotas, func(l *corev1.ResourceQuotaList) []corev1.ResourceQuota { return l.Items })(core.ResourceQuotas("").List(ctx, all)),
		listed(&s.slices, func(l *discoveryv1.EndpointSliceList) []discoveryv1.EndpointSlice { return l.Items })(client.DiscoveryV1().EndpointSlices("").List(ctx, all)),
		listed(&s.deployments, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items })(apps.Deployments("").List(ctx, all)),
		listed(&s.sets, func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items })(apps.ReplicaSets("").List(ctx, all)),
		listed(&s.stateful, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items })(apps.StatefulSets("").List(ctx, all)),
		listed(&s.daemons, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items })(apps.DaemonSets("").List(ctx, all)),
		listed(&s.maps, func(l *corev1.ConfigMapList) []corev1.ConfigMap { return l.Items })(core.ConfigMaps("").List(ctx, all)),
		listed(&s.secrets, func(l *corev1.SecretList) []corev1.Secret { return l.Items })(core.Secrets("").List(ctx, all)),
		listed(&s.jobs, func(l *batchv1.JobList) []batchv1.Job { return l.Items })(client.BatchV1().Jobs("").List(ctx, all)),
		listed(&s.crons, func(l *batchv1.CronJobList) []batchv1.CronJob { return l.Items })(client.BatchV1().CronJobs("").List(ctx, all)),
		listed(&s.budgets, func(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items })(client.PolicyV1().PodDisruptionBudgets("").List(ctx, all)),
		listed(&s.claims, func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items })(core.PersistentVolumeClaims("").List(ctx, all)),
		listed(&s.volumes, func(l *corev1.PersistentVolumeList) []corev1.PersistentVolume { return l.Items })(core.PersistentVolumes().List(ctx, all)),
	}
	return s, errors.Join(errs...)
}

// listed stores the items of a list.
func listed[L, I any](into *[]I, items func(L) []I) func(L, error) error {
	return func(list L, err error) error {
		if err == nil {
			*into = items(list)
		}
		return err
	}
}

// Settled returns the first object that has not converged to its desired state, nil if all have:
// the documentation of each kind promises that its controller reconciles it once faults are over. Cron jobs are suspended when they
// have begun the job of the minute, what needs it because of findings is done by hand, and then the rest is expected to converge.
func Settled(ctx context.Context, client kubernetes.Interface, untyped dynamic.Interface) error {
	s, err := readAll(ctx, client, untyped)
	if err != nil {
		return err
	}
	if err := s.nodesTake(); err != nil {
		return err
	}
	return first(
		promise{soon, s.cronJobsRun}, promise{soon, func() error { return s.suspendCronJobs(ctx, client) }}, promise{soon, func() error { return s.byHand(ctx, client) }},
		promise{soon, s.customsServed}, promise{soon, s.owners}, promise{soon, s.deleted}, promise{soon, s.inNamespaces}, promise{soon, s.deploymentsDone}, promise{soon, s.setsDone}, promise{soon, s.statefulDone},
		promise{soon, s.daemonsDone}, promise{soon, s.templatesRun}, promise{soon, s.podsRun}, promise{soon, s.claimsBind}, promise{soon, s.volumesFollow}, promise{soon, s.claimsBelong}, promise{soon, s.servicesReach}, promise{soon, s.budgetsCount}, promise{soon, s.jobsBegin},
		promise{soon, s.jobsRest}, promise{soon, s.cronJobsKnow}, promise{backOff, s.jobsDone}, promise{resync, s.quotasCount}, promise{resync, s.addressesHeld},
	)
}

// promise is what holds within some time after healing, and returns the first object of which it does not hold.
type promise struct {
	within time.Duration
	wrong  func() error
}

// first returns what the first broken promise says, as an unsettled error.
func first(promises ...promise) error {
	for _, p := range promises {
		if err := p.wrong(); err != nil {
			return unsettled{err, p.within}
		}
	}
	return nil
}

// How long the control plane may take to converge after healing.
const (
	// soon leaves time for retries, whose backoff is about as long as the faults, at most a minute
	// (workqueue.DefaultTypedControllerRateLimiter), and for pods to end, start and become ready one after the other. It is
	// less than the five minutes after which expectations of controllers expire (controller.ExpectationsTimeout)
	// and the scheduler retries all pods (DefaultPodMaxInUnschedulablePodsDuration).
	soon = 3 * time.Minute
	// backOff is for pods of a job that fail several times, with a backoff of up to 80 s (DefaultJobPodFailureBackOff).
	backOff = 6 * time.Minute
	// resync is for the usage of a quota that an API server did not write before it crashed
	// (kube-controller-manager --resource-quota-sync-period is five minutes), and for cluster IPs, which API servers repair every three minutes
	// (pkg/registry/core/rest.StorageProvider).
	resync = 8 * time.Minute
)

// unsettled says what has not converged, and by when it should.
type unsettled struct {
	error
	within time.Duration
}

// Unwrap is for errors.AsType.
func (u unsettled) Unwrap() error { return u.error }

// wrong says what is wrong with an object.
type wrong struct {
	error
	of metav1.Object
	// orphan means that all of its owners are gone, held that the garbage collector has not removed its finalizer, ahead that nothing
	// is wrong except that its observedGeneration exceeds its generation, and overcounts that a budget counts too many healthy pods.
	orphan, held, ahead, overcounts bool
}

func wrongf(of metav1.Object, format string, a ...any) error {
	return wrong{error: fmt.Errorf(format, a...), of: of}
}

// Due reports whether an error of Settled has a deadline. It has none while nodes accept no pods, as
// everything else depends on that.
func Due(err error) bool {
	_, is := errors.AsType[unsettled](err)
	return is
}

// Late returns an error if the deadline of an error of Settled or SettledElsewhere has passed, given the time since healing. The deadline is extended by more,
// for a rollout for example.
func Late(err error, after, more time.Duration) error {
	if u, is := errors.AsType[unsettled](err); is && after > u.within+more {
		return fmt.Errorf("still wrong %v after everything had healed: %w", u.within+more, err)
	}
	return nil
}

// Quiet returns an error if an object changes within the given time: a control
// plane that has converged writes nothing but its leases, and events.
func Quiet(ctx context.Context, client kubernetes.Interface, untyped dynamic.Interface, within time.Duration) error {
	before, err := readAll(ctx, client, untyped)
	if err != nil {
		return err
	}
	time.Sleep(within)
	after, err := readAll(ctx, client, untyped)
	if err != nil {
		return err
	}
	was := map[types.UID]string{}
	for _, o := range before.objects() {
		was[o.GetUID()] = o.GetResourceVersion()
	}
	for _, o := range after.objects() {
		if rv, had := was[o.GetUID()]; !had || rv != o.GetResourceVersion() {
			return fmt.Errorf("expected no writes within %v, found one to %s %s (resourceVersion %q, before %q)", within, kindOf(o), describe(o), o.GetResourceVersion(), rv)
		}
	}
	return nil
}

// all returns all objects.
func (s *state) all() []metav1.Object {
	return slices.Concat(s.objects(), pointers(s.maps), pointers(s.secrets), pointers(s.gauges))
}

// objects returns those that nothing writes once the control plane has converged.
func (s *state) objects() (all []metav1.Object) {
	return slices.Concat(pointers(s.namespaces), pointers(s.nodes), pointers(s.pods), pointers(s.services), pointers(s.slices), pointers(s.quotas), pointers(s.addresses),
		pointers(s.deployments), pointers(s.sets), pointers(s.stateful), pointers(s.daemons), pointers(s.jobs), pointers(s.crons), pointers(s.budgets),
		pointers(s.claims), pointers(s.volumes), pointers(s.definitions), pointers(s.customs))
}

func pointers[T any, P interface {
	*T
	metav1.Object
}](items []T) (all []metav1.Object) {
	for i := range items {
		all = append(all, P(&items[i]))
	}
	return all
}

func describe(o metav1.Object) string { return cache.MetaObjectToName(o).String() }

// nodesTake: healthy nodes accept pods. A taint that stayed because of one failed request is removed after the kubelet's next
// full report, up to five minutes later (nodeStatusReportFrequency).
func (s *state) nodesTake() error {
	for _, node := range s.nodes {
		for _, taint := range node.Spec.Taints {
			return fmt.Errorf("node %s is tainted with %s", node.Name, taint.ToString())
		}
	}
	return nil
}

// owners: the garbage collector deletes objects whose owners are all gone. An object of another namespace, kind or
// name than a reference says is not an owner.
func (s *state) owners() error {
	living := map[types.UID]metav1.Object{}
	for _, o := range append(s.all(), pointers(s.leftovers)...) {
		living[o.GetUID()] = o
	}
	for _, o := range s.all() {
		owners := o.GetOwnerReferences()
		ends := o.GetDeletionTimestamp() != nil && (s.off != nil || s.isUsed(o))
		if len(owners) > 0 && !ends && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool {
			return living[r.UID] != nil && isOwner(r, living[r.UID], o) || s.mayExist(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
		}) {
			return wrong{error: fmt.Errorf("%s %s has no owner left (%s %s, UID %s)", kindOf(o), describe(o), owners[0].Kind, owners[0].Name, owners[0].UID), of: o, orphan: true}
		}
	}
	return nil
}

// inNamespaces: no object remains in a namespace that is gone.
func (s *state) inNamespaces() error {
	for _, o := range s.all() {
		if o.GetNamespace() != "" && !slices.ContainsFunc(s.namespaces, func(n corev1.Namespace) bool { return n.Name == o.GetNamespace() }) {
			return wrongf(o, "%s %s is in a namespace that is gone", kindOf(o), describe(o))
		}
	}
	return nil
}

// deleted: objects with a deletionTimestamp are removed, once their finalizers are.
func (s *state) deleted() error {
	for _, o := range s.all() {
		if o.GetDeletionTimestamp() != nil && !s.awaitsReplacement(o) && !s.isUsed(o) {
			held := slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents) || slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
			return wrong{error: fmt.Errorf("%s %s is terminating and is not removed; its finalizers are %q", kindOf(o), describe(o), o.GetFinalizers()), of: o, held: held}
		}
	}
	return nil
}

// awaitsReplacement reports whether a job keeps a terminating pod until it may create the next pod of its index, and cannot do so: it rests, or another pod,
// which no node has room for, takes the last place that its parallelism allows (podsWithDelayedDeletionPerIndex in pkg/controller/job of v1.37.2).
func (s *state) awaitsReplacement(o metav1.Object) bool {
	return slices.Contains(o.GetFinalizers(), batchv1.JobTrackingFinalizer) && slices.ContainsFunc(s.jobs, func(job batchv1.Job) bool {
		return job.UID == ownerOf(o) && job.DeletionTimestamp == nil && job.Spec.BackoffLimitPerIndex != nil && finished(&job) == "" && !s.runs(&job)
	})
}

func (s *state) podsRun() error {
	for _, pod := range s.pods {
		if lives(&pod) && !s.off[pod.Spec.NodeName] && (pod.Spec.NodeName == "" || !isReady(&pod.Status)) && s.hasRoom(&pod) && s.hasClaims(&pod) {
			return wrongf(&pod, "pod %s is %s on node %q and not ready", describe(&pod), pod.Status.Phase, pod.Spec.NodeName)
		}
	}
	return nil
}

// servicesReach: the endpoints of a service are the ready pods that it selects.
func (s *state) servicesReach() error {
	for _, service := range s.services {
		if service.Spec.Selector == nil || service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		selector := labels.SelectorFromSet(service.Spec.Selector)
		want := s.count(func(p *corev1.Pod) bool {
			return p.Namespace == service.Namespace && selector.Matches(labels.Set(p.Labels)) && !isOver(p) && isReady(&p.Status)
		})
		found := map[types.UID]bool{}
		for _, slice := range s.slices {
			if slice.Namespace == service.Namespace && slice.Labels[discoveryv1.LabelServiceName] == service.Name {
				for _, endpoint := range slice.Endpoints {
					if ptr.Deref(endpoint.Conditions.Ready, false) && endpoint.TargetRef != nil {
						found[endpoint.TargetRef.UID] = true
					}
				}
			}
		}
		if len(found) != want {
			return wrongf(&service, "service %s has %d endpoints, and selects %d ready pods", describe(&service), len(found), want)
		}
	}
	return nil
}

// addressesHeld: each cluster IP is allocated to the service that has it, and no other address is allocated to a service.
func (s *state) addressesHeld() error {
	holder := map[string]string{}
	for _, a := range s.addresses {
		if ref := a.Spec.ParentRef; ref != nil && ref.Resource == "services" {
			holder[a.Name] = cache.NewObjectName(ref.Namespace, ref.Name).String()
		}
	}
	for _, service := range s.services {
		for _, ip := range service.Spec.ClusterIPs {
			if ip == corev1.ClusterIPNone {
				continue
			}
			if holder[ip] != describe(&service) {
				return wrongf(&service, "service %s has cluster IP %s, which is allocated to %q", describe(&service), ip, holder[ip])
			}
			delete(holder, ip)
		}
	}
	for _, ip := range slices.Sorted(maps.Keys(holder)) {
		return fmt.Errorf("IP address %s is allocated to service %s, which does not have it", ip, holder[ip])
	}
	return nil
}

// quotasCount: the usage of a quota is the number of pods.
func (s *state) quotasCount() error {
	for _, quota := range s.quotas {
		if _, limited := quota.Spec.Hard[corev1.ResourcePods]; !limited {
			continue
		}
		want := s.count(func(p *corev1.Pod) bool { return p.Namespace == quota.Namespace && !isOver(p) })
		if used := quota.Status.Used.Pods().Value(); used != int64(want) {
			return fmt.Errorf("quota %s counts %d pods, and there are %d", describe(&quota), used, want)
		}
	}
	return nil
}

// budgetsCount: currentHealthy of a budget is the number of ready pods that it selects.
func (s *state) budgetsCount() error {
	for _, budget := range s.budgets {
		selector := labels.SelectorFromSet(budget.Spec.Selector.MatchLabels)
		want := s.count(func(p *corev1.Pod) bool {
			return p.Namespace == budget.Namespace && selector.Matches(labels.Set(p.Labels)) && isReady(&p.Status)
		})
		is := budget.Status
		observed, counts := is.ObservedGeneration == budget.Generation, int(is.CurrentHealthy)
		if counts != want || !observed {
			return wrong{error: fmt.Errorf("budget %s counts %d healthy pods, and there are %d", describe(&budget), counts, want), of: &budget, overcounts: counts > want && observed}
		}
	}
	return nil
}

func (s *state) count(is func(*corev1.Pod) bool) (n int) {
	for i := range s.pods {
		if is(&s.pods[i]) {
			n++
		}
	}
	return n
}
