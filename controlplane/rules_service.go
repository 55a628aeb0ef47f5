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
			// What shares an address loses it when the other one is deleted.
			if !s.shares[other.UID] && !s.mayHaveReleased(other, after, s.wrote[rv]) {
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
// the service that was refused or not answered by then (finding 34), for a create that has stored one of both although it failed (finding 37), or for
// another failed create while the service had the address (finding 36).
func (s *store) mayHaveReleased(service, other *corev1.Service, write *model.Operation) bool {
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
	// The etcd of a create that times out may store the service even after another one has got the address.
	hasStored := func(request *importer.Told) bool {
		return request.Kind == model.Create && request.Err == model.Unknown &&
			(born == nil && mayBeOf(request, service) || write == nil && mayBeOf(request, other))
	}
	refused := requested(func(request *importer.Told) bool {
		return request.Kind == model.Create && request.Err != model.OK && !hasStored(request) &&
			(born == nil || request.Return == model.Pending || request.Return > born.Call)
	})
	if updated && s.isFinding(34, servicesName, "a service has got an address that an update of another service has released before it was written") {
		return true
	}
	if requested(hasStored) && s.isFinding(37, servicesName, "a service has got an address of another one that was stored although its create failed") {
		return true
	}
	if refused { // no mutant can fix it, as that would change what functions take
		s.note(servicesName, "a service has got an address of another one, which a refused create of a third one has released (finding 36)")
	}
	return refused
}

// mayBeOf reports whether a request to create a service may be for this one. The name is unknown if the connection broke before it was read.
func mayBeOf(request *importer.Told, service *corev1.Service) bool {
	return request.Scope.Namespace == service.Namespace && (request.Scope.Name == service.Name || request.Scope.Name == "")
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
