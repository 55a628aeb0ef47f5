package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The prefixes of claims and volumes in etcd.
const (
	claimKeys  = "/registry/persistentvolumeclaims/"
	volumeKeys = "/registry/persistentvolumes/"
)

// volumes records what rules about volumes and claims need to know.
type volumes struct {
	// placed is the revision at which a pod was bound to its node, and condemned that at which a claim was deleted.
	placed, condemned map[types.UID]int64
	// claimed are the claims that a volume has ever referred to, and held is the one that was bound to it.
	claimed map[string]map[types.UID]bool
	held    map[string]types.UID
	// ghosts are the claims of pods whose node was removed before them, by their keys.
	ghosts map[string]bool
}

func newVolumes() volumes {
	return volumes{placed: map[types.UID]int64{}, condemned: map[types.UID]int64{}, claimed: map[string]map[types.UID]bool{}, held: map[string]types.UID{}, ghosts: map[string]bool{}}
}

func (v volumes) apply(s *store, old, now object, rv int64) {
	if node, is := old.(*corev1.Node); is && now == nil {
		for _, pod := range s.byNode[node.Name] {
			for i := range pod.Spec.Volumes {
				v.ghosts[claimKey(pod, &pod.Spec.Volumes[i])] = true
			}
		}
	}
	switch now := now.(type) {
	case *corev1.Pod:
		if now.Spec.NodeName != "" && v.placed[now.UID] == 0 {
			v.placed[now.UID] = rv
		}
	case *corev1.PersistentVolumeClaim:
		if beginsDeletion(old, now) {
			v.condemned[now.UID] = rv
		}
		if now.Status.Phase == corev1.ClaimBound {
			v.held[now.Spec.VolumeName] = now.UID
		}
	case *corev1.PersistentVolume:
		if v.claimed[now.Name] == nil {
			v.claimed[now.Name] = map[types.UID]bool{}
		}
		v.claimed[now.Name][referred(now)] = true
	}
}

// referred returns the UID of the claim that a volume refers to, "" for none.
func referred(volume *corev1.PersistentVolume) types.UID {
	if volume.Spec.ClaimRef == nil {
		return ""
	}
	return volume.Spec.ClaimRef.UID
}

// claimIsKept checks claims that lose their protection. A pod that was bound to a node before the claim was deleted counts, and so does one
// that has succeeded or failed. For its ephemeral volumes, a pod does not count that is only held by finalizers, and with the fix of finding 62, it does not
// for any volume.
func claimIsKept(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.PersistentVolumeClaim](old, now)
	if before == nil || !slices.Contains(before.Finalizers, claimProtection) || after != nil && after.UID == before.UID && slices.Contains(after.Finalizers, claimProtection) {
		return ""
	}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		pod, is := s.objects[at].(*corev1.Pod)
		if !is || pod.Namespace != before.Namespace || pod.Spec.NodeName == "" || s.volumes.placed[pod.UID] > s.volumes.condemned[before.UID] {
			continue
		}
		for i := range pod.Spec.Volumes {
			volume := &pod.Spec.Volumes[i]
			ephemeral := volume.Ephemeral != nil
			if claimOf(pod, volume) == before.Name && (!ephemeral || ownerOf(before) == pod.UID) && !(isShutDown(pod) && (ephemeral || fixed(62))) {
				return fmt.Sprintf("claim %s loses its protection while pod %s on %s uses it", nameOf(key), nameOf(at), pod.Spec.NodeName)
			}
		}
	}
	return ""
}

// isShutDown reports whether a pod's kubelet has confirmed that it has ended, or the pod was deleted by force (podIsShutDown in
// pkg/controller/volume/pvcprotection of v1.37.2).
func isShutDown(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, -1) == 0
}

// volumeIsKept checks volumes that are removed: none is that is bound to a claim.
func volumeIsKept(s *store, key string, old, now object, _ int64) string {
	before, _ := both[corev1.PersistentVolume](old, now)
	if before == nil || now != nil {
		return ""
	}
	if claim := s.claim(before); claim != nil && claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName == before.Name {
		return fmt.Sprintf("volume %s is removed while claim %s/%s is bound to it", nameOf(key), claim.Namespace, claim.Name)
	}
	return ""
}

// dataIsKept checks deletions by the control plane and by the provisioner.
func dataIsKept(s *store, key string, old, now object, rv int64) string {
	volume := deleting[corev1.PersistentVolume](old, now)
	by := s.deletedBy(rv)
	if volume == nil || by == nil || !strings.HasPrefix(by.Client, managerName) && by.Client != provisioner {
		return ""
	}
	if claim := s.claim(volume); claim != nil {
		return fmt.Sprintf("%s deletes volume %s, whose claim %s/%s exists", by.Client, nameOf(key), claim.Namespace, claim.Name)
	}
	if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
		return fmt.Sprintf("%s deletes volume %s, whose reclaim policy is Retain", by.Client, nameOf(key))
	}
	return ""
}

// claim returns the claim that a volume refers to, nil if it is gone.
func (s *store) claim(volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	if volume.Spec.ClaimRef == nil {
		return nil
	}
	claim, is := s.objects[claimKeys+volume.Spec.ClaimRef.Namespace+"/"+volume.Spec.ClaimRef.Name].(*corev1.PersistentVolumeClaim)
	if !is || claim.UID != volume.Spec.ClaimRef.UID {
		return nil
	}
	return claim
}

// usedOnce checks bindings of pods with a claim for one pod. It counts other pods that the scheduler knew of, as fits does.
func usedOnce(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.Pod](old, now)
	if after == nil || after.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" {
		return ""
	}
	for i := range after.Spec.Volumes {
		at := claimKey(after, &after.Spec.Volumes[i])
		claim, is := s.objects[at].(*corev1.PersistentVolumeClaim)
		if !is || !isForOne(claim) {
			continue
		}
		for _, other := range slices.Sorted(maps.Keys(s.objects)) {
			pod, is := s.objects[other].(*corev1.Pod)
			if is && other != key && pod.Namespace == after.Namespace && !isOver(pod) && s.isOnNode(pod) && s.bindings.knew(after.UID, pod.UID) &&
				slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return claimOf(pod, &v) == claim.Name }) {
				if s.volumes.ghosts[at] && s.isFinding(59, "pods", "a scheduler has given a ReadWriteOncePod claim to a second pod, as it counted a pod on a removed node twice") {
					return ""
				}
				return fmt.Sprintf("pod %s is bound to %s while pod %s on %s uses the same claim %s, which is ReadWriteOncePod", nameOf(key), after.Spec.NodeName, nameOf(other), pod.Spec.NodeName, claim.Name)
			}
		}
	}
	return ""
}

// claimKey returns the key of the claim that a pod uses as a volume.
func claimKey(pod *corev1.Pod, volume *corev1.Volume) string {
	return claimKeys + pod.Namespace + "/" + claimOf(pod, volume)
}

// isOnNode reports whether the node still exists to which a pod was bound.
func (s *store) isOnNode(pod *corev1.Pod) bool {
	node := s.node(pod.Spec.NodeName)
	return node != nil && s.born[node.UID] < s.volumes.placed[pod.UID]
}

// isForOne reports whether only one pod at a time may use a claim.
func isForOne(claim *corev1.PersistentVolumeClaim) bool {
	return slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
}

// lostIsGone checks claims that become Lost.
func lostIsGone(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.PersistentVolumeClaim](old, now)
	if after == nil || after.Status.Phase != corev1.ClaimLost || before != nil && before.Status.Phase == corev1.ClaimLost {
		return ""
	}
	volume, is := s.objects[volumeKeys+after.Spec.VolumeName].(*corev1.PersistentVolume)
	if !is || referred(volume) != after.UID {
		return ""
	}
	return fmt.Sprintf("claim %s is declared Lost, and its volume %s exists", nameOf(key), volume.Name)
}

// oneToOne checks both sides of a binding: a volume is given to no claim after another one was bound to it, and a claim is bound only to a volume that has referred to it.
func oneToOne(s *store, key string, old, now object, _ int64) string {
	if volume, is := now.(*corev1.PersistentVolume); is {
		was, is := s.volumes.held[volume.Name], referred(volume)
		if was == "" || is == "" || was == is {
			return ""
		}
		return fmt.Sprintf("volume %s, to which the claim with UID %s was bound, is given to the one with UID %s", nameOf(key), was, is)
	}
	before, after := both[corev1.PersistentVolumeClaim](old, now)
	if after == nil || after.Status.Phase != corev1.ClaimBound || before != nil && before.Status.Phase == corev1.ClaimBound || s.volumes.claimed[after.Spec.VolumeName][after.UID] {
		return ""
	}
	return fmt.Sprintf("claim %s is bound to volume %q, which has never referred to it", nameOf(key), after.Spec.VolumeName)
}
