package controlplane

import (
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// object is an object of one of Kubernetes' built-in types, or a custom one.
type object interface {
	runtime.Object
	metav1.Object
}

// store is the state of a cluster at a revision, for the resources that rules check.
type store struct {
	seen    simtest.Seen
	objects map[string]object // by their key in etcd
	byOwner map[types.UID]map[string]*corev1.Pod
	byNode  map[string]map[string]*corev1.Pod
	// changed is the revision of the last change of each key.
	changed map[string]int64
	// created and finished are the requests that created pods and finished jobs, if their success was confirmed.
	created  map[types.UID]*model.Operation
	finished map[types.UID]*model.Operation
	// limited is the revision since which a job has its TTL, or none.
	limited map[types.UID]int64
	// elastic are the jobs whose completions have ever changed.
	elastic map[types.UID]bool
	// owners are the controllers that pods were created for.
	owners map[types.UID]types.UID
	// wrote are the write requests of clients by the revision of each, nil without
	// histories.
	wrote map[int64]*model.Operation
	// marked are the requests that have set deletionTimestamps, by revision, for revisions that wrote lacks.
	marked map[int64]*model.Operation
	// born is the revision at which each object was created.
	born map[types.UID]int64
	// ending is the revision that set the deletionTimestamp of the last namespace of each name.
	ending map[string]int64
	// pods explains what clients were told of pods, nil without histories.
	pods *explain.Explainer
	// known are all pods that have ever existed.
	known map[types.UID]*known
	// relabelled are all changes of pods' labels.
	relabelled []relabelled
	// ended is the revision at which each pod succeeded or failed.
	ended map[types.UID]int64
	// requests are the places of requests in the lists of their resources.
	requests map[requestOf]place
	// referred is the revision at which the owner references of each key last changed.
	referred map[string]int64
	// references are the kinds and names in owner references.
	references map[reference]called
	// bindings are nil without histories.
	bindings *bindings
	// renewals are the times at which nodes received the answers that their leases are renewed.
	renewals map[string][]int64
	// untainted is the revision since which a node has no NoExecute taint.
	untainted map[types.UID]int64
	// shunned are the NoExecute taints that nodes have or have had.
	shunned map[types.UID]shunned
	// shares are the services that have got the address of another one because of finding 34, 36 or 37, and those other ones.
	shares map[types.UID]bool
	// terms are the current terms of leaders, by the keys of their leases.
	terms map[string]*term
	// robbed are the candidates whose lease another candidate has released (finding 51).
	robbed   map[string]bool
	charges  charges
	rollouts rollouts
	cronJobs cronJobs
	// partitions are those of stateful sets.
	partitions partitions
	volumes    volumes
}

func newStore(seen simtest.Seen) *store {
	histories := seen.Histories
	s := &store{
		seen: seen, untainted: map[types.UID]int64{}, shunned: map[types.UID]shunned{}, renewals: map[string][]int64{}, known: map[types.UID]*known{}, ended: map[types.UID]int64{}, born: map[types.UID]int64{}, ending: map[string]int64{},
		requests: map[requestOf]place{}, referred: map[string]int64{}, references: map[reference]called{}, objects: map[string]object{},
		byOwner: map[types.UID]map[string]*corev1.Pod{}, byNode: map[string]map[string]*corev1.Pod{},
		changed: map[string]int64{}, terms: map[string]*term{}, robbed: map[string]bool{}, limited: map[types.UID]int64{}, elastic: map[types.UID]bool{}, shares: map[types.UID]bool{},
		created: map[types.UID]*model.Operation{}, finished: map[types.UID]*model.Operation{}, owners: map[types.UID]types.UID{},
		charges: charges{since: map[types.UID]int64{}, most: map[types.UID]int64{}, lowered: map[types.UID][]*model.Operation{}}, rollouts: newRollouts(),
		partitions: partitions{from: map[types.UID]map[string]string{}, moved: map[types.UID]int64{}},
		volumes:    newVolumes(),
		cronJobs:   cronJobs{replaces: map[types.UID]bool{}, forbids: map[types.UID]int64{}},
	}
	if histories != nil {
		s.wrote, s.marked, s.bindings = map[int64]*model.Operation{}, marks(seen), newBindings(seen)
	}
	if pods := histories["pods"]; pods != nil {
		s.pods = explain.New(pods)
	}
	for _, all := range seen.Requests {
		for i, request := range all {
			s.requests[requestOf{request.Client, request.Call, request.Scope}] = place{all, i}
		}
	}
	for _, history := range histories {
		for i := range history.Operations {
			switch op := &history.Operations[i]; op.Kind {
			case model.Create, model.Update, model.Delete:
				if op.Err == model.OK && op.ResultRV != 0 {
					s.wrote[op.ResultRV] = op
				}
			}
		}
	}
	return s
}

// requestOf identifies a request of a client.
type requestOf struct {
	client string
	call   int64
	scope  model.Scope
}

// place is the position of a request among all for its resource, in the order in which they were sent.
type place struct {
	all []*importer.Told
	at  int
}

// isBy reports whether a controller of a controller manager has made a request.
func (s *store) isBy(controller string, request *model.Operation) bool {
	found, known := s.requests[requestOf{request.Client, request.Call, request.Scope}]
	return known && isOf(found.all[found.at], controller)
}

// isOf is isBy for a request as recorded by its client: the User-Agent (restclient.AddUserAgent) ends with the controller's name.
func isOf(request *importer.Told, controller string) bool {
	return strings.HasSuffix(request.Agent, "/"+controller)
}

// leases is the prefix of leader election leases in etcd.
const leases = "/registry/leases/kube-system/"

// podKeys is the prefix of pods in etcd.
const podKeys = "/registry/pods/"

// budgetKeys is the prefix of PodDisruptionBudgets in etcd.
const budgetKeys = "/registry/poddisruptionbudgets/"

// judged are the prefixes of resources that rules check.
var judged = []string{
	podKeys, "/registry/minions/", "/registry/replicasets/", "/registry/jobs/", "/registry/resourcequotas/", leases,
	"/registry/configmaps/", "/registry/secrets/", "/registry/deployments/", namespaces, "/registry/statefulsets/", "/registry/daemonsets/",
	services, "/registry/endpointslices/", "/registry/controllerrevisions/", budgetKeys, nodeLeases, "/registry/cronjobs/",
	claimKeys, volumeKeys,
}

// isJudged reports whether rules check an etcd key.
func isJudged(key string) bool {
	return isCustom(key) || slices.ContainsFunc(judged, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// isCustom reports whether an etcd key is that of a custom object: it begins with the group of the resource. Those of other resources begin with the
// resource, except for the definitions of custom resources and of API services.
func isCustom(key string) bool {
	group, _, _ := strings.Cut(strings.TrimPrefix(key, "/registry/"), "/")
	return strings.Contains(group, ".") && group != definitions.Group && group != "apiregistration.k8s.io"
}

// decode decodes an object as stored in etcd.
func decode(change model.Change) (object, error) {
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(change.Object.Value), nil, nil)
	if runtime.IsNotRegisteredError(err) {
		custom := &unstructured.Unstructured{}
		return custom, custom.UnmarshalJSON([]byte(change.Object.Value))
	}
	if err != nil {
		return nil, err
	}
	return decoded.(object), nil
}

// apply applies a change, after which the key holds now, nil for none.
func (s *store) apply(key string, now object, rv int64) {
	s.changed[key] = rv
	if before := s.objects[key]; now != nil && (before == nil || !reflect.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences())) {
		s.referred[key] = rv
	}
	s.applyReferences(now, rv)
	s.applyTerm(key, now, rv)
	s.applyRenewal(key, rv)
	s.applyTaints(s.objects[key], now, rv)
	s.charges.apply(s, s.objects[key], now, rv)
	s.rollouts.apply(s.objects[key], now, rv)
	s.cronJobs.apply(s.objects[key], now, rv)
	s.partitions.apply(s, s.objects[key], now, rv)
	s.volumes.apply(s, s.objects[key], now, rv)
	applyPod(s.known, s.objects[key], now, rv)
	s.applyLabels(s.objects[key], now, rv)
	if now != nil && s.objects[key] == nil {
		s.born[now.GetUID()] = rv
	}
	switch now := now.(type) {
	case *corev1.Namespace:
		if before := s.objects[key]; now.DeletionTimestamp != nil && (before == nil || before.GetDeletionTimestamp() == nil) {
			s.ending[now.Name] = rv
		}
	case *corev1.Pod:
		if s.objects[key] == nil {
			s.created[now.UID], s.owners[now.UID] = s.wrote[rv], ownerOf(now)
		}
		if isOver(now) && s.ended[now.UID] == 0 {
			s.ended[now.UID] = rv
		}
	case *batchv1.Job:
		old, is := s.objects[key].(*batchv1.Job)
		if !is || old.UID != now.UID || !ptr.Equal(old.Spec.TTLSecondsAfterFinished, now.Spec.TTLSecondsAfterFinished) {
			s.limited[now.UID] = rv
		}
		if is && old.UID == now.UID && !reflect.DeepEqual(old.Spec.Completions, now.Spec.Completions) {
			s.elastic[now.UID] = true
		}
		if finished(now) != "" && (!is || finished(old) == "") {
			s.finished[now.UID] = s.wrote[rv]
		}
	}
	if old, is := s.objects[key].(*corev1.Pod); is {
		delete(s.byOwner[ownerOf(old)], key)
		delete(s.byNode[old.Spec.NodeName], key)
	}
	if now == nil {
		delete(s.objects, key)
		return
	}
	s.objects[key] = now
	if pod, is := now.(*corev1.Pod); is {
		put(s.byOwner, ownerOf(pod), key, pod)
		put(s.byNode, pod.Spec.NodeName, key, pod)
	}
}

// note adds to the report a failure of a resource that does not fail the run, and why.
func (s *store) note(resource, why string) {
	if s.seen.Unjudged != nil {
		s.seen.Unjudged(resource, why)
	}
}

// knew reports whether the author of a change knew the effect of an earlier request on a resource; always true without
// histories.
func (s *store) knew(rv int64, resource string, earlier *model.Operation) bool {
	if s.wrote == nil {
		return true
	}
	by := s.wrote[rv]
	return by != nil && earlier != nil && s.bindings.views.include(resource, by.Client, earlier.Client, earlier.Return)
}

func put[K comparable](index map[K]map[string]*corev1.Pod, at K, key string, pod *corev1.Pod) {
	if index[at] == nil {
		index[at] = map[string]*corev1.Pod{}
	}
	index[at][key] = pod
}

// ownerOf returns the UID of an object's controller, "" if it has none.
func ownerOf(o metav1.Object) types.UID { return controllerOf(o).UID }

// ownerKind returns the kind of an object's controller.
func ownerKind(o metav1.Object) string { return controllerOf(o).Kind }

func controllerOf(o metav1.Object) metav1.OwnerReference {
	return ptr.Deref(metav1.GetControllerOf(o), metav1.OwnerReference{})
}

// isOver reports whether a pod has succeeded or failed.
func isOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// lives reports whether a pod has neither succeeded nor failed, and has no deletionTimestamp.
func lives(pod *corev1.Pod) bool { return !isOver(pod) && pod.DeletionTimestamp == nil }
