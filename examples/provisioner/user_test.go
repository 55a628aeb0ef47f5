package provisioner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

const (
	namespace = "default"
	class     = "class"
)

var names = []string{"a", "b", "c"}

// user creates and deletes claims.
type user struct {
	ctx    context.Context
	client kubernetes.Interface
	pace   time.Duration
	// impatient says that the user deletes claims that are not bound yet.
	impatient bool
}

func newUser(t testing.TB, ctx context.Context, config *rest.Config, impatient bool) *user {
	u := &user{ctx, kubernetes.NewForConfigOrDie(config), time.Millisecond + rand.N(5*time.Second), impatient}
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: Name}
	c.ReclaimPolicy, c.VolumeBindingMode = ptr.To(corev1.PersistentVolumeReclaimDelete), ptr.To(storagev1.VolumeBindingImmediate)
	_, err := u.client.StorageV1().StorageClasses().Create(ctx, c, metav1.CreateOptions{})
	require.NoError(t, err)
	return u
}

// act does something with one of the claims.
func (u *user) act() {
	name := names[rand.IntN(len(names))]
	claims := u.client.CoreV1().PersistentVolumeClaims(namespace)
	if rand.IntN(2) == 0 {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.StorageClassName, claim.Spec.AccessModes = ptr.To(class), []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		u.do(func() error { _, err := claims.Create(u.ctx, claim, metav1.CreateOptions{}); return err })
	} else {
		u.do(func() error {
			claim, err := claims.Get(u.ctx, name, metav1.GetOptions{})
			if err != nil || !u.impatient && claim.Status.Phase != corev1.ClaimBound {
				return err
			}
			return claims.Delete(u.ctx, name, metav1.DeleteOptions{})
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

// settled returns an error until each claim has a volume, and the storage has exactly those.
func (u *user) settled(s *storage) error {
	volumes, err := u.client.CoreV1().PersistentVolumes().List(u.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := u.client.CoreV1().PersistentVolumeClaims("").List(u.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var known []string
	for _, v := range volumes.Items {
		known = append(known, v.Name)
		if !slices.Contains(s.names(), v.Name) {
			return fmt.Errorf("volume %s is %s, and the storage, which has %q, has not", v.Name, v.Status.Phase, s.names())
		}
		if v.Status.Phase != corev1.VolumeBound {
			return fmt.Errorf("volume %s is %s", v.Name, v.Status.Phase)
		}
	}
	for _, name := range s.names() {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the storage has %s, of which there is no volume", name)
		}
	}
	for _, c := range claims.Items {
		if c.Status.Phase != corev1.ClaimBound || !slices.Contains(known, c.Spec.VolumeName) {
			return fmt.Errorf("claim %s is %q, of volume %q", c.Name, c.Status.Phase, c.Spec.VolumeName)
		}
	}
	return nil
}
