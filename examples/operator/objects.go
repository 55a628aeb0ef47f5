package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/watchsim/watchsim/examples/operator/api/v1"
)

// The labels of pods and volumes say which database they were made for. The name of a database can
// be reused, its UID never is.
const (
	nameLabel = "example.com/database"
	uidLabel  = "example.com/database-uid"
)

// meta returns the metadata of an object made for a database.
func meta(database *v1.Database, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: database.Namespace, Name: name,
		Labels: map[string]string{nameLabel: database.Name, uidLabel: string(database.UID)},
	}
}

// volumeOf returns the volume of a server. It has no owner reference: the garbage collector must
// not delete data, see Reconciler.release.
func volumeOf(database *v1.Database, server int) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: meta(database, fmt.Sprintf("data-%s-%d", database.Name, server)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
}

// podOf returns the pod of a server.
func podOf(database *v1.Database, server int) *corev1.Pod {
	claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volumeOf(database, server).Name}
	pod := &corev1.Pod{
		ObjectMeta: meta(database, fmt.Sprintf("%s-%d", database.Name, server)),
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "database", Image: "example.com/database:1",
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}},
		},
	}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(database, v1.GroupVersion.WithKind("Database"))}
	return pod
}

// objectsOf returns the pods and volumes made for databases with a name.
func objectsOf(ctx context.Context, reader client.Reader, database types.NamespacedName) ([]client.Object, error) {
	return listAll(ctx, reader, client.InNamespace(database.Namespace), client.MatchingLabels{nameLabel: database.Name})
}

// listAll returns the existing pods and volumes.
func listAll(ctx context.Context, reader client.Reader, options ...client.ListOption) (all []client.Object, err error) {
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, options...); err != nil {
		return nil, err
	}
	var volumes corev1.PersistentVolumeClaimList
	if err := reader.List(ctx, &volumes, options...); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		all = append(all, &pods.Items[i])
	}
	for i := range volumes.Items {
		all = append(all, &volumes.Items[i])
	}
	return all, nil
}

// isFor reports whether an object was made for exactly this database.
func isFor(object client.Object, database *v1.Database) bool {
	return object.GetLabels()[uidLabel] == string(database.UID)
}
