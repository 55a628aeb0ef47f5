// Package snapshots runs the released controllers of CSI volume snapshots over an API server.
package snapshots

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	client "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/typed/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/transport"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/examples/snapshots"
)

const (
	driver       = "example.com"
	claim        = "claim"
	beingCreated = "snapshot.storage.kubernetes.io/volumesnapshot-being-created"
)

var ctx = context.Background()

// Late delays a controller's watch of contents.
func Late(by time.Duration) transport.WrapperFunc { return server.Late("volumesnapshotcontents", by) }

// Start runs an API server, a volume that is bound to a claim, a class with the deletion policy Delete, and the controllers with
// their default settings and a driver. Their requests pass through controller and sidecar, if these are given.
func Start(controller, sidecar transport.WrapperFunc, storage *Storage) client.SnapshotV1Interface {
	config := server.Start(snapshots.Definitions())
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim}}
	pvc.Spec.VolumeName = "volume"
	pvc = rig.Create(core.PersistentVolumeClaims(server.Namespace), pvc)
	pvc.Status.Phase = corev1.ClaimBound
	rig.UpdateStatus(core.PersistentVolumeClaims(server.Namespace), pvc)
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: pvc.Spec.VolumeName}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "volume"}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: server.Namespace, Name: claim, UID: pvc.UID}
	rig.Create(core.PersistentVolumes(), pv)
	c := client.NewForConfigOrDie(config)
	class := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete}
	rig.Create(c.VolumeSnapshotClasses(), class)

	go func() { rig.Must(snapshots.RunController(ctx, server.Away(config, controller), snapshots.Resync)) }()
	go func() {
		rig.Must(snapshots.RunSidecar(ctx, server.Away(config, sidecar), snapshots.Resync, driver, storage))
	}()
	return c
}

// Create creates a snapshot of the volume.
func Create(c client.SnapshotV1Interface, name string) *snapshotv1.VolumeSnapshot {
	snapshot := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name}}
	snapshot.Spec.VolumeSnapshotClassName = new("class")
	snapshot.Spec.Source.PersistentVolumeClaimName = new(claim)
	return rig.Create(c.VolumeSnapshots(server.Namespace), snapshot)
}

// DeleteEarly creates snapshots one after the other, and deletes each as soon as it has begun.
func DeleteEarly(c client.SnapshotV1Interface, rounds int, begun func(client.SnapshotV1Interface, *snapshotv1.VolumeSnapshot) bool) {
	for i := range rounds {
		snapshot := Create(c, fmt.Sprintf("snapshot-%d", i))
		rig.Until(func() bool { return begun(c, snapshot) })
		rig.Delete(c.VolumeSnapshots(server.Namespace), snapshot.Name)
	}
}

// Ready reports whether a snapshot is ready to use.
func Ready(c client.SnapshotV1Interface, name string) bool {
	snapshot := rig.Get(c.VolumeSnapshots(server.Namespace), name)
	return snapshot.Status != nil && snapshot.Status.ReadyToUse != nil && *snapshot.Status.ReadyToUse
}

// Orphans waits for pending deletions, and returns the snapshots in the storage that have no content in the cluster.
func Orphans(c client.SnapshotV1Interface, storage *Storage) (orphans []string) {
	time.Sleep(20 * time.Second)
	contents := rig.List(c.VolumeSnapshotContents(), "")
	known := map[string]bool{}
	for _, content := range contents.Items {
		known["snapshot-"+string(content.Spec.VolumeSnapshotRef.UID)] = true
	}
	for _, name := range storage.Names() {
		if !known[name] {
			orphans = append(orphans, name)
		}
	}
	return orphans
}

// IsBeingTaken reports whether the sidecar has begun to take a snapshot and a finalizer protects its content.
func IsBeingTaken(c client.SnapshotV1Interface, snapshot *snapshotv1.VolumeSnapshot) bool {
	content := Content(c, snapshot)
	return content != nil && len(content.Finalizers) > 0 && metav1.HasAnnotation(content.ObjectMeta, beingCreated)
}

// HasContent reports whether a snapshot has a content.
func HasContent(c client.SnapshotV1Interface, snapshot *snapshotv1.VolumeSnapshot) bool {
	return Content(c, snapshot) != nil
}

// Content returns the content of a snapshot, or nil.
func Content(c client.SnapshotV1Interface, snapshot *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshotContent {
	content, err := c.VolumeSnapshotContents().Get(ctx, "snapcontent-"+string(snapshot.UID), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return content
}

// Storage is a driver and the snapshots in its storage.
type Storage struct {
	Takes time.Duration // to create a snapshot
	// Late is the error that the first request for each snapshot returns, although the snapshot is taken; nil for none.
	Late error

	mu        sync.Mutex
	snapshots map[string]time.Time // by name, when they were taken
	asked     map[string]bool
}

// Names returns the names of the existing snapshots.
func (s *Storage) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.snapshots))
}

// CreateSnapshot takes a snapshot, once for each name.
func (s *Storage) CreateSnapshot(_ context.Context, name, _ string, _, _ map[string]string) (string, string, time.Time, int64, bool, error) {
	time.Sleep(s.Takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshots == nil {
		s.snapshots, s.asked = map[string]time.Time{}, map[string]bool{}
	}
	if _, exists := s.snapshots[name]; !exists {
		s.snapshots[name] = time.Now()
	}
	if s.Late != nil && !s.asked[name] {
		s.asked[name] = true
		return "", "", time.Time{}, 0, false, s.Late
	}
	return driver, name, s.snapshots[name], 1 << 30, true, nil
}

// DeleteSnapshot deletes a snapshot.
func (s *Storage) DeleteSnapshot(_ context.Context, handle string, _ map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.snapshots, handle)
	return nil
}

// GetSnapshotStatus reports that a snapshot is ready.
func (s *Storage) GetSnapshotStatus(context.Context, string, map[string]string) (bool, time.Time, int64, string, error) {
	return true, time.Now(), 1 << 30, "", nil
}
