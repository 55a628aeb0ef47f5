package controlplane

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// services is the prefix of services in etcd.
const services = "/registry/services/specs/"

// uniqueAddress checks each service that gets an address or a port on nodes.
func uniqueAddress(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.Service](old, now)
	if after == nil {
		return ""
	}
	gets := addresses(after)
	if before != nil {
		had := addresses(before)
		gets = slices.DeleteFunc(gets, func(address string) bool { return slices.Contains(had, address) })
	}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		other, is := s.objects[at].(*corev1.Service)
		if !is || at == key {
			continue
		}
		for _, address := range addresses(other) {
			if !slices.Contains(gets, address) {
				continue
			}
			if !s.mayHaveReleased(other, s.wrote[rv]) {
				return fmt.Sprintf("service %s gets %s, which service %s has", describe(after), address, describe(other))
			}
			s.shares[after.UID], s.shares[other.UID] = true, true
		}
	}
	return ""
}

// servicesName is the resource of services.
const servicesName = "services"

// mayHaveReleased reports whether API servers may have released an address of a service before another service got it with a write: for an update of
// the service that was refused or not answered by then (finding 34), or for a refused create of any service while it had the address (finding 36).
func (s *store) mayHaveReleased(service *corev1.Service, write *model.Operation) bool {
	born := s.wrote[s.born[service.UID]]
	requested := func(is func(*importer.Told) bool) bool {
		return slices.ContainsFunc(s.seen.Requests[servicesName], func(request *importer.Told) bool {
			return (write == nil || request.Call < write.Return) && is(request)
		})
	}
	updated := requested(func(request *importer.Told) bool {
		return request.Kind == model.Update && request.Scope == model.Scope{Namespace: service.Namespace, Name: service.Name} &&
			(write == nil || request.Err != model.OK || request.Return > write.Call)
	})
	refused := requested(func(request *importer.Told) bool {
		return request.Kind == model.Create && request.Err != model.OK && (born == nil || request.Return > born.Call)
	})
	if updated && s.isFinding(34, servicesName, "a service has got an address that an update of another service has released before it was written") {
		return true
	}
	if refused { // no mutant can fix it, as that would change what functions take
		s.note(servicesName, "a service has got an address of another one, which a refused create of a third one has released (finding 36)")
	}
	return refused
}

// addresses returns the cluster IPs of a service, and its ports on nodes.
func addresses(service *corev1.Service) (all []string) {
	for _, ip := range service.Spec.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			all = append(all, ip)
		}
	}
	for _, port := range service.Spec.Ports {
		if port.NodePort != 0 {
			all = append(all, fmt.Sprintf("port %d", port.NodePort))
		}
	}
	return all
}
