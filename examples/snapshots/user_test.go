package snapshots

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	client "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/typed/volumesnapshot/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	driver    = "example.com"
	namespace = "default"
	volume    = "volume"
	claim     = "claim"
)

// user takes snapshots of a volume, and deletes them.
type user struct {
	t      testing.TB
	ctx    context.Context
	client client.SnapshotV1Interface
	pace   time.Duration // between two actions, at most
	// impatient says that the user deletes snapshots that are not ready yet.
	impatient bool
}

// The deletion policies: classes are named after what happens to the snapshot in the storage when its object is deleted.
var (
	classes = []snapshotv1.DeletionPolicy{snapshotv1.VolumeSnapshotContentDelete, snapshotv1.VolumeSnapshotContentRetain}
	names   = []string{"a", "b", "c"}
)

// newUser creates a volume, which is bound to a claim, and classes of snapshots.
func newUser(t testing.TB, ctx context.Context, config *rest.Config, impatient bool) *user {
	u := &user{t: t, ctx: ctx, client: client.NewForConfigOrDie(config), pace: time.Millisecond + rand.N(5*time.Second), impatient: impatient}
	core := kubernetes.NewForConfigOrDie(config).CoreV1()
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "volume-1"}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: claim}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim}}
	pvc.Spec.VolumeName = volume
	pvc, err := core.PersistentVolumeClaims(namespace).Create(ctx, pvc, metav1.CreateOptions{})
	require.NoError(t, err)
	pv.Spec.ClaimRef.UID = pvc.UID
	_, err = core.PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	require.NoError(t, err)
	pvc.Status.Phase = corev1.ClaimBound
	_, err = core.PersistentVolumeClaims(namespace).UpdateStatus(ctx, pvc, metav1.UpdateOptions{})
	require.NoError(t, err)
	for _, policy := range classes {
		class := &snapshotv1.VolumeSnapshotClass{ObjectMeta: metav1.ObjectMeta{Name: className(policy)}, Driver: driver, DeletionPolicy: policy}
		_, err := u.client.VolumeSnapshotClasses().Create(ctx, class, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return u
}

func className(policy snapshotv1.DeletionPolicy) string {
	return map[snapshotv1.DeletionPolicy]string{snapshotv1.VolumeSnapshotContentDelete: "delete", snapshotv1.VolumeSnapshotContentRetain: "retain"}[policy]
}

// act does something with one of the snapshots.
func (u *user) act() {
	name := names[rand.IntN(len(names))]
	switch rand.IntN(5) {
	case 0, 1:
		snapshot := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name}}
		class := className(classes[rand.IntN(len(classes))])
		snapshot.Spec.VolumeSnapshotClassName = &class
		snapshot.Spec.Source.PersistentVolumeClaimName = new(claim)
		u.do(func() error {
			_, err := u.client.VolumeSnapshots(namespace).Create(u.ctx, snapshot, metav1.CreateOptions{})
			return err
		})
	case 2, 3:
		u.do(func() error {
			snapshot, err := u.client.VolumeSnapshots(namespace).Get(u.ctx, name, metav1.GetOptions{})
			if err != nil || !u.impatient && !usable(snapshot) {
				return err
			}
			return u.client.VolumeSnapshots(namespace).Delete(u.ctx, name, metav1.DeleteOptions{})
		})
	case 4:
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"l":"%d"}}}`, rand.IntN(3))
		u.do(func() error {
			_, err := u.client.VolumeSnapshots(namespace).Patch(u.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		})
	}
	time.Sleep(rand.N(u.pace))
}

// do retries a request until it succeeds, or cannot succeed.
func (u *user) do(request func() error) {
	for err := request(); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err); err = request() {
		time.Sleep(100 * time.Millisecond)
	}
}

// usable reports whether volumes can be created from a snapshot.
func usable(snapshot *snapshotv1.VolumeSnapshot) bool {
	return snapshot.Status != nil && snapshot.Status.ReadyToUse != nil && *snapshot.Status.ReadyToUse
}

// settled returns an error until each snapshot is ready, none is terminating, and the storage has exactly
// what the cluster knows of.
func (u *user) settled(s *storage) error {
	contents, err := u.client.VolumeSnapshotContents().List(u.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	byName := map[string]*snapshotv1.VolumeSnapshotContent{}
	handles := s.handles()
	var known []string
	for i := range contents.Items {
		content := &contents.Items[i]
		if content.DeletionTimestamp != nil {
			return fmt.Errorf("content %s is still being deleted", content.Name)
		}
		if content.Status == nil || content.Status.SnapshotHandle == nil || !slices.Contains(handles, *content.Status.SnapshotHandle) {
			return fmt.Errorf("expected content %s to have a snapshot of the storage, which has %q; found the status %+v", content.Name, handles, content.Status)
		}
		known = append(known, *content.Status.SnapshotHandle)
		byName[content.Name] = content
	}
	for _, handle := range handles {
		if !slices.Contains(known, handle) {
			return fmt.Errorf("the storage has %s, which no content knows of", handle)
		}
	}
	snapshots, err := u.client.VolumeSnapshots(namespace).List(u.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, snapshot := range snapshots.Items {
		if err := ready(&snapshot, byName); err != nil {
			return fmt.Errorf("%s: %w", snapshot.Name, err)
		}
	}
	return unowned(contents.Items, snapshots.Items)
}

// ready returns an error if a snapshot is not usable.
func ready(snapshot *snapshotv1.VolumeSnapshot, contents map[string]*snapshotv1.VolumeSnapshotContent) error {
	status := snapshot.Status
	switch {
	case snapshot.DeletionTimestamp != nil:
		return errors.New("it is still being deleted")
	case status != nil && status.Error != nil:
		return fmt.Errorf("expected no error, found %q", *status.Error.Message)
	case !usable(snapshot):
		return fmt.Errorf("expected it to be ready, found %+v", status)
	case status.BoundVolumeSnapshotContentName == nil || contents[*status.BoundVolumeSnapshotContentName] == nil:
		return fmt.Errorf("expected a content, found %+v", status)
	case contents[*status.BoundVolumeSnapshotContentName].Spec.VolumeSnapshotRef.UID != snapshot.UID:
		return errors.New("its content is that of another")
	}
	return nil
}

// unowned returns an error if a content should have been deleted with its snapshot, which is gone.
func unowned(contents []snapshotv1.VolumeSnapshotContent, snapshots []snapshotv1.VolumeSnapshot) error {
	for _, content := range contents {
		owned := slices.ContainsFunc(snapshots, func(s snapshotv1.VolumeSnapshot) bool { return s.UID == content.Spec.VolumeSnapshotRef.UID })
		if !owned && content.Spec.DeletionPolicy == snapshotv1.VolumeSnapshotContentDelete {
			return fmt.Errorf("content %s was to be deleted with its snapshot %s, which is gone", content.Name, content.Spec.VolumeSnapshotRef.Name)
		}
	}
	return nil
}
