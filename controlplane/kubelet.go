package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// The periods of a kubelet, from its defaults (nodeLeaseDurationSeconds, nodeStatusUpdateFrequency,
// nodeStatusReportFrequency).
const (
	leaseDuration = 40 * time.Second
	leaseRenewal  = leaseDuration / 4
	statusUpdate  = 10 * time.Second
	statusReport  = 5 * time.Minute
	maxBackoff    = 10 * time.Second // backOffPeriod of pkg/kubelet
)

// Kubelet returns a program for simtest that acts as the kubelet of a node. It registers the
// node, renews its lease and its status, and handles the pods that are bound to it as a
// kubelet does, but runs no containers: a pod becomes ready after a while, finishes if its
// restart policy says so, and is removed some time after its deletionTimestamp was set.
//
// Containers outlive their kubelet: they belong to the [Node].
func Kubelet(node *Node) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		config = rest.CopyConfig(config)
		config.ContentType = "application/vnd.kubernetes.protobuf" // the default of kubelets
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		for ctx.Err() == nil {
			on, cut := node.power(ctx)
			retries := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](5*time.Millisecond, maxBackoff)
			k := &kubelet{node: node, client: client, queue: workqueue.NewTypedRateLimitingQueue(retries)}
			err := k.run(on)
			if cut(); err != nil && !node.isOff() {
				return err
			}
		}
		return nil
	}
}

func upTo(most time.Duration) time.Duration { return rand.N(max(most, time.Millisecond)) }

// kubelet is one life of a kubelet.
type kubelet struct {
	node   *Node
	client kubernetes.Interface
	pods   cache.Indexer
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// reported is when the kubelet last reported that the node is ready.
	reported time.Time
}

func (k *kubelet) run(ctx context.Context) error {
	if err := k.register(ctx); err != nil {
		return fmt.Errorf("register node %s: %w", k.node.name, err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(k.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", k.node.name).String()
	}))
	informer := factory.Core().V1().Pods().Informer()
	k.pods = informer.GetIndexer()
	changed := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			k.queue.Add(types.NamespacedName(key))
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }, DeleteFunc: changed,
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go k.renew(ctx, leaseRenewal, k.renewLease)
	go k.renew(ctx, statusUpdate, k.reportStatus)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	go func() {
		<-ctx.Done()
		k.queue.ShutDown()
	}()
	for {
		key, stop := k.queue.Get()
		if stop {
			return nil
		}
		if again, err := k.sync(ctx, key); err != nil {
			k.queue.AddRateLimited(key)
		} else {
			k.queue.Forget(key)
			if again > 0 {
				k.queue.AddAfter(key, again)
			}
		}
		k.queue.Done(key)
	}
}

// renew repeats a piece of work until ctx is done.
func (k *kubelet) renew(ctx context.Context, every time.Duration, work func(context.Context) error) {
	for ctx.Err() == nil {
		_ = work(ctx) // a failure is retried soon
		time.Sleep(every + upTo(every/25))
	}
}

// register creates the node, unless it exists.
func (k *kubelet) register(ctx context.Context) error {
	for {
		capacity := corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("30"),
		}
		_, err := k.client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: k.node.name, Labels: map[string]string{corev1.LabelHostname: k.node.name}},
			Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, Conditions: conditions()},
		}, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) || ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(time.Second)
	}
}

func conditions() []corev1.NodeCondition {
	now := metav1.Now()
	healthy := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return []corev1.NodeCondition{
		healthy(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		healthy(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		healthy(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
		healthy(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
	}
}

// reportStatus reports that the node is ready: if its status says otherwise, when the kubelet starts,
// and at intervals. Controllers that have missed the node's last change look at it again then.
func (k *kubelet) reportStatus(ctx context.Context) error {
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.node.name, metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return k.register(ctx)
	}
	if err != nil {
		return err
	}
	if ready(node) == corev1.ConditionTrue && time.Since(k.reported) < statusReport {
		return nil
	}
	node.Status.Conditions = conditions()
	if _, err = k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err == nil {
		k.reported = time.Now()
	}
	return err
}

// renewLease renews the lease from which the node lifecycle controller concludes that the node is alive.
func (k *kubelet) renewLease(ctx context.Context) error {
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	now := metav1.NowMicro()
	lease, err := leases.Get(ctx, k.node.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: k.node.name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &k.node.name, LeaseDurationSeconds: new(int32(leaseDuration.Seconds())), RenewTime: &now},
		}, metav1.CreateOptions{})
	case err == nil:
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return err
}

// sync reconciles a pod, and returns when to requeue it; 0 means when it changes.
func (k *kubelet) sync(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	object, exists, err := k.pods.GetByKey(key.String())
	if err != nil || !exists {
		k.node.end(key, "")
		return 0, err
	}
	pod := object.(*corev1.Pod)
	k.node.end(key, pod.UID)
	if pod.DeletionTimestamp == nil && !k.node.has(pod) {
		if err := k.mount(ctx, pod); err != nil {
			return 0, err
		}
	}
	c := k.node.of(pod)
	if c == nil {
		return 0, nil
	}
	now := time.Now()
	if !c.gone.IsZero() {
		if now.Before(c.gone) {
			return c.gone.Sub(now), nil
		}
		return 0, k.end(ctx, pod, c)
	}
	if !c.ends.IsZero() && !now.Before(c.ends) {
		return 0, k.report(ctx, pod, statusOver(pod, c))
	}
	status := pod.Status.DeepCopy()
	container := containerStatus(pod, c)
	next := []time.Time{c.ends, c.ready, c.crashes}
	if !now.Before(c.ready) {
		status.Phase, status.PodIP, container.State.Running = corev1.PodRunning, "10.1.0.1", &corev1.ContainerStateRunning{}
		container.Ready, next[1] = k.node.probe(c)
	}
	setReady(status, container.Ready)
	for _, at := range next {
		if !at.IsZero() && (again == 0 || at.Sub(now) < again) {
			again = at.Sub(now)
		}
	}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	return again, k.report(ctx, pod, status)
}

// containerStatus is the status of a pod's container, without its state.
func containerStatus(pod *corev1.Pod, c *containers) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, RestartCount: c.restarts}
}

// statusOver is the status of a pod whose containers have ended.
func statusOver(pod *corev1.Pod, c *containers) *corev1.PodStatus {
	status := pod.Status.DeepCopy()
	status.Phase = corev1.PodSucceeded
	if c.exit > 0 {
		status.Phase = corev1.PodFailed
	}
	if c.evicted {
		status.Reason = "Evicted"
		setCondition(status, corev1.DisruptionTarget, true, corev1.PodReasonTerminationByKubelet)
	}
	setReady(status, false)
	container := containerStatus(pod, c)
	container.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: c.exit}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	return status
}

// report writes the status of a pod if it differs.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	if pod.Status.Phase == status.Phase && isReady(&pod.Status) == isReady(status) && pod.Status.StartTime != nil && restarts(&pod.Status) == restarts(status) {
		return nil
	}
	if status.StartTime == nil {
		status.StartTime = new(metav1.Now())
	}
	changed := pod.DeepCopy()
	changed.Status = *status
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// restarts returns how often containers have been restarted.
func restarts(status *corev1.PodStatus) (count int32) {
	for _, container := range status.ContainerStatuses {
		count += container.RestartCount
	}
	return count
}

// end removes a pod whose containers have ended.
func (k *kubelet) end(ctx context.Context, pod *corev1.Pod, c *containers) error {
	if pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending {
		if err := k.report(ctx, pod, statusOver(pod, c)); err != nil {
			return err
		}
	}
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func isReady(status *corev1.PodStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// setReady sets the Ready condition.
func setReady(status *corev1.PodStatus, ready bool) { setCondition(status, corev1.PodReady, ready, "") }

// setCondition sets a condition.
func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, is bool, reason string) {
	condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now()}
	if is {
		condition.Status = corev1.ConditionTrue
	}
	at := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	switch {
	case at < 0:
		status.Conditions = append(status.Conditions, condition)
	case status.Conditions[at].Status != condition.Status:
		status.Conditions[at] = condition
	}
}
