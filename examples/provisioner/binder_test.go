package provisioner

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// bind does what Kubernetes' PersistentVolume controller does with claims and volumes, without a cache.
func bind(ctx context.Context, config *rest.Config) error {
	client := kubernetes.NewForConfigOrDie(config)
	for ctx.Err() == nil {
		_ = bindAll(ctx, client) // tried again
		time.Sleep(200 * time.Millisecond)
	}
	return nil
}

const provisionerAnnotation = "volume.kubernetes.io/storage-provisioner"

func bindAll(ctx context.Context, client kubernetes.Interface) error {
	volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := client.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claimed := map[string]*corev1.PersistentVolume{}
	for i := range volumes.Items {
		v := &volumes.Items[i]
		claimed[string(v.Spec.ClaimRef.UID)] = v
		phase := corev1.VolumeBound
		if !slices.ContainsFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool { return c.UID == v.Spec.ClaimRef.UID }) {
			phase = corev1.VolumeReleased
		}
		if v.Status.Phase != phase && v.Status.Phase != corev1.VolumeReleased {
			v.Status.Phase = phase
			if _, err := client.CoreV1().PersistentVolumes().UpdateStatus(ctx, v, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		v := claimed[string(c.UID)]
		switch {
		case c.Annotations[provisionerAnnotation] == "":
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, provisionerAnnotation, Name)
		case v != nil && c.Spec.VolumeName == "":
			c.Spec.VolumeName = v.Name
		case v != nil && c.Status.Phase != corev1.ClaimBound:
			c.Status.Phase = corev1.ClaimBound
			if _, err := client.CoreV1().PersistentVolumeClaims(c.Namespace).UpdateStatus(ctx, c, metav1.UpdateOptions{}); err != nil {
				return err
			}
			continue
		default:
			continue
		}
		if _, err := client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
