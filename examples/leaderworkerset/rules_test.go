package leaderworkerset

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// setKeys is the prefix of sets in etcd.
const setKeys = "/registry/leaderworkerset.x-k8s.io/leaderworkersets/"

// judge checks every state that etcd has held. Calm is the resourceVersion from which on nothing goes wrong and the user only upgrades
// each set once; "" for never.
type judge struct {
	calm string

	objects map[string]metav1.Object          // that exist, by their keys in etcd
	workers map[types.UID]*appsv1.StatefulSet // all that ever existed
	all     map[types.UID]*corev1.Pod         // the last state of each pod
	ready   map[types.UID]bool                // pods that have ever been ready
	// hurt are the leaders of whose group a container has restarted or a pod was deleted.
	hurt map[types.UID]bool
	// contents are those of revisions by their set and key, and ambiguous those that have had different ones.
	contents  map[string]string
	ambiguous map[string]bool
	// by are the operator's deletions by the resourceVersion of the result.
	by   map[int64]*model.Operation
	seen simtest.Seen
}

// rule is an invariant. Its source is in the release: api is api/leaderworkerset/v1/leaderworkerset_types.go.
type rule struct {
	name, promise, source string
	broken                func(j *judge, before, now metav1.Object, rv int64) string
}

var rules = []rule{
	{"Injected", "Each pod has the labels and environment variables that tell it its place.", "api: LwsLeaderAddress, LwsGroupSize, LwsWorkerIndex and the labels", (*judge).injected},
	{"OneRevision", "A worker is of the same revision, size and address as its leader, also if its group is recreated before it is updated.", "KEP-238: the correct version is used when a replica is recreated", (*judge).oneRevision},
	{"LeaderFirst", "With the startupPolicy LeaderReady, the stateful set of workers is created after their leader has become ready.", "api: LeaderReadyStartupPolicy", (*judge).leaderFirst},
	{"KeptLeader", "The operator deletes a leader only if a container of its group has restarted or a pod was deleted, and the restartPolicy asks for that.", "api: RecreateGroupOnPodRestart, NoneRestartPolicy", (*judge).keptLeader},
	{"Available", "A rollout without faults keeps as many groups available as the strategy says, and creates no more than it allows.", "api: RollingUpdateConfiguration", (*judge).available},
}

// check applies the rules to a run.
func (j *judge) check(seen simtest.Seen) error {
	*j = judge{calm: j.calm, seen: seen, objects: map[string]metav1.Object{}, workers: map[types.UID]*appsv1.StatefulSet{},
		all: map[types.UID]*corev1.Pod{}, ready: map[types.UID]bool{}, hurt: map[types.UID]bool{}, contents: map[string]string{}, ambiguous: map[string]bool{}, by: map[int64]*model.Operation{}}
	first := map[int64]int64{}
	for _, request := range seen.Requests["pods"] {
		op := request.Op
		if request.Kind != model.Delete || op.Err != model.OK || op.ResultRV == 0 {
			continue
		}
		if call, is := first[op.ResultRV]; is && call < op.Call {
			continue
		}
		first[op.ResultRV] = op.Call
		delete(j.by, op.ResultRV)
		if slices.Contains(managers, op.Client) {
			j.by[op.ResultRV] = &op
		}
	}
	decoder := serializer.NewCodecFactory(Scheme()).UniversalDeserializer()
	said := map[string]bool{}
	var broken []string
	for _, change := range seen.Committed.Changes {
		now, err := decode(decoder, change)
		if err != nil {
			return err
		}
		if now == nil {
			continue
		}
		key := change.Object.Name
		before := j.objects[key]
		if change.Deleted {
			j.remove(key, now)
			now = nil
		} else {
			j.put(key, now)
		}
		for _, rule := range rules {
			if said[rule.name] {
				continue
			}
			if text := rule.broken(j, before, now, change.RV); text != "" {
				said[rule.name] = true
				broken = append(broken, fmt.Sprintf("%s is broken at revision %d: %s. %s (%s)", rule.name, change.RV, text, rule.promise, rule.source))
			}
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("%s", strings.Join(broken, "\n"))
	}
	return nil
}

// decode returns an object as stored in etcd, nil if no rule is about it.
func decode(decoder runtime.Decoder, change model.Change) (metav1.Object, error) {
	for _, keys := range []string{setKeys, "/registry/pods/", "/registry/statefulsets/", "/registry/controllerrevisions/"} {
		if strings.HasPrefix(change.Object.Name, keys) {
			decoded, _, err := decoder.Decode([]byte(change.Object.Value), nil, nil)
			if err != nil {
				return nil, err
			}
			return decoded.(metav1.Object), nil
		}
	}
	return nil, nil
}

// leaderOf returns the leader of a pod, which may be itself; nil if it is of no group.
func (j *judge) leaderOf(pod *corev1.Pod) *corev1.Pod {
	if pod.Labels[lwsv1.WorkerIndexLabelKey] == "0" {
		return pod
	}
	if workers := j.workers[owner(pod)]; workers != nil {
		return j.all[owner(workers)]
	}
	return nil
}

func (j *judge) put(key string, now metav1.Object) {
	j.objects[key] = now
	switch now := now.(type) {
	case *appsv1.StatefulSet:
		j.workers[now.UID] = now
	case *appsv1.ControllerRevision:
		if id := revisionOf(now); j.contents[id] == "" {
			j.contents[id] = string(now.Data.Raw)
		} else if j.contents[id] != string(now.Data.Raw) {
			j.ambiguous[id] = true
		}
	case *corev1.Pod:
		j.all[now.UID] = now
		j.ready[now.UID] = j.ready[now.UID] || podutil.IsPodReady(now)
		if leader := j.leaderOf(now); leader != nil && (restarted(now) || now != leader && now.DeletionTimestamp != nil) {
			j.hurt[leader.UID] = true
		}
	}
}

func (j *judge) remove(key string, last metav1.Object) {
	delete(j.objects, key)
	if pod, is := last.(*corev1.Pod); is {
		if leader := j.leaderOf(pod); leader != nil {
			j.hurt[leader.UID] = true
		}
	}
}

// setOf returns the set of an object by its name, nil for none.
func (j *judge) setOf(o metav1.Object) *lwsv1.LeaderWorkerSet {
	set, _ := j.objects[setKeys+o.GetNamespace()+"/"+o.GetLabels()[lwsv1.SetNameLabelKey]].(*lwsv1.LeaderWorkerSet)
	return set
}

// revisionOf identifies the revision of an object by its set's name and its key.
func revisionOf(o metav1.Object) string {
	return o.GetNamespace() + "/" + o.GetLabels()[lwsv1.SetNameLabelKey] + "/" + o.GetLabels()[lwsv1.RevisionKey]
}

func restarted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}

// member returns a pod of a set, nil for any other object.
func member(o metav1.Object) *corev1.Pod {
	pod, is := o.(*corev1.Pod)
	if !is || pod.Labels[lwsv1.SetNameLabelKey] == "" {
		return nil
	}
	return pod
}

// env returns a variable of a container.
func env(c corev1.Container, name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

func (j *judge) injected(before, now metav1.Object, _ int64) string {
	pod := member(now)
	if pod == nil || before != nil {
		return ""
	}
	rest := strings.Split(strings.TrimPrefix(pod.Name, pod.Labels[lwsv1.SetNameLabelKey]+"-"), "-")
	place := append(rest, "0")[:2] // the indexes of the group and of the pod in it
	want := map[string]string{lwsv1.GroupIndexLabelKey: place[0], lwsv1.WorkerIndexLabelKey: place[1]}
	for label, value := range want {
		if pod.Labels[label] != value {
			return fmt.Sprintf("pod %s is created with %q as its label %s", pod.Name, pod.Labels[label], label)
		}
	}
	if pod.Labels[lwsv1.GroupUniqueHashLabelKey] == "" || pod.Labels[lwsv1.RevisionKey] == "" {
		return fmt.Sprintf("pod %s is created with the labels %v", pod.Name, pod.Labels)
	}
	variables := map[string]string{
		lwsv1.LwsWorkerIndex: place[1], lwsv1.LwsGroupSize: pod.Annotations[lwsv1.SizeAnnotationKey],
		lwsv1.LwsLeaderAddress: fmt.Sprintf("%s-%s.%s.%s", pod.Labels[lwsv1.SetNameLabelKey], place[0], pod.Spec.Subdomain, pod.Namespace),
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for name, value := range variables {
			if env(c, name) != value {
				return fmt.Sprintf("pod %s is created with %q as the variable %s, expected %q", pod.Name, env(c, name), name, value)
			}
		}
	}
	return ""
}

func (j *judge) oneRevision(before, now metav1.Object, _ int64) string {
	pod := member(now)
	if pod == nil || before != nil {
		return ""
	}
	leader := j.leaderOf(pod)
	if leader == nil || leader == pod {
		return ""
	}
	of := func(pod *corev1.Pod) (revision, place string) {
		c := pod.Spec.Containers[0]
		return fmt.Sprintf("revision %s and %s", pod.Labels[lwsv1.RevisionKey], c.Image),
			fmt.Sprintf("%s %s and %s %s", lwsv1.LwsGroupSize, env(c, lwsv1.LwsGroupSize), lwsv1.LwsLeaderAddress, env(c, lwsv1.LwsLeaderAddress))
	}
	revision, place := of(pod)
	wanted, places := of(leader)
	size := leader.Annotations[lwsv1.SizeAnnotationKey]
	replicas := *j.workers[owner(pod)].Spec.Replicas
	if revision == wanted && (place != places || fmt.Sprint(replicas+1) != size) && os.Getenv(mixed) == "" {
		j.seen.Unjudged("groups", "a group that is recreated, or not updated yet, has another size or another address of its leader among its workers")
		return ""
	}
	if revision != wanted && revisionOf(pod) == revisionOf(leader) && j.ambiguous[revisionOf(pod)] && os.Getenv(twice) == "" {
		j.seen.Unjudged("revisions", "the current template has got the key of another one, whose revision was not found")
		return ""
	}
	if revision != wanted || place != places {
		return fmt.Sprintf("pod %s is created with %s, %s, and its leader has %s, %s", pod.Name, revision, place, wanted, places)
	}
	if fmt.Sprint(replicas+1) != size {
		return fmt.Sprintf("pod %s is one of %d workers, and its group has size %s", pod.Name, replicas, size)
	}
	return ""
}

func (j *judge) leaderFirst(before, now metav1.Object, _ int64) string {
	workers, is := now.(*appsv1.StatefulSet)
	if !is || before != nil {
		return ""
	}
	leader := j.all[owner(workers)]
	set := j.setOf(workers)
	if leader == nil || set == nil || set.Spec.StartupPolicy != lwsv1.LeaderReadyStartupPolicy || j.ready[leader.UID] {
		return ""
	}
	return fmt.Sprintf("the stateful set %s is created, and its leader has never been ready", workers.Name)
}

func (j *judge) keptLeader(before, now metav1.Object, rv int64) string {
	by := j.by[rv]
	if by == nil || before == nil || before.GetDeletionTimestamp() != nil {
		return ""
	}
	pod := member(before)
	if pod == nil || pod.Labels[lwsv1.WorkerIndexLabelKey] != "0" {
		return ""
	}
	set := j.setOf(pod)
	if j.hurt[pod.UID] && (set == nil || set.Spec.LeaderWorkerTemplate.RestartPolicy != lwsv1.NoneRestartPolicy) {
		return ""
	}
	return fmt.Sprintf("%s deletes leader %s with UID %s (request at %s), and nothing has befallen its group", by.Client, pod.Name, pod.UID, model.At(by.Call))
}

func (j *judge) available(_, _ metav1.Object, rv int64) string {
	calm, err := strconv.ParseInt(j.calm, 10, 64)
	if err != nil || rv <= calm {
		return ""
	}
	for key, o := range j.objects {
		set, is := o.(*lwsv1.LeaderWorkerSet)
		if !is {
			continue
		}
		ready, leaders := int32(0), int32(0)
		for _, o := range j.objects {
			pod := member(o)
			if pod == nil || pod.Labels[lwsv1.SetNameLabelKey] != set.Name || pod.Namespace != set.Namespace || pod.Labels[lwsv1.WorkerIndexLabelKey] != "0" {
				continue
			}
			leaders++
			if j.groupReady(pod) {
				ready++
			}
		}
		if least := *set.Spec.Replicas - unavailable(set); ready < least {
			return fmt.Sprintf("%d groups of %s are available, expected %d at least", ready, key, least)
		}
		if most := *set.Spec.Replicas + surge(set); leaders > most {
			return fmt.Sprintf("%s has %d groups, expected %d at most", key, leaders, most)
		}
	}
	return ""
}

// groupReady reports whether all pods of a group are ready.
func (j *judge) groupReady(leader *corev1.Pod) bool {
	size, _ := strconv.Atoi(leader.Annotations[lwsv1.SizeAnnotationKey])
	ready := 0
	for _, o := range j.objects {
		if pod, is := o.(*corev1.Pod); is && pod.DeletionTimestamp == nil && podutil.IsPodReady(pod) {
			if one := j.leaderOf(pod); one != nil && one.UID == leader.UID {
				ready++
			}
		}
	}
	return ready >= size
}
