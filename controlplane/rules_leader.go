package controlplane

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
)

// electorates are the leases of programs, by how the names of the programs begin.
var electorates = map[string]string{managerName: leases + "kube-controller-manager", schedulerName: leases + "kube-scheduler"}

// term is how long somebody has been the leader.
type term struct {
	// holder is the program that leads, empty for nobody, and began the request that made it so; nil as long as it is
	// not known: then it is the first of its requests of which it was told.
	holder string
	began  *model.Operation
}

// applyTerm notes who leads.
func (s *store) applyTerm(key string, now object, rv int64) {
	lease, is := now.(*coordinationv1.Lease)
	if !is || !strings.HasPrefix(key, leases) {
		return
	}
	holder, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	if at := s.terms[key]; at == nil || at.holder != holder {
		s.terms[key] = &term{holder: holder}
	}
	if at := s.terms[key]; at.began == nil {
		at.began = s.wrote[rv]
	}
}

// leaseHeld compares the last change by the old holder with the first one by the new. Each takes effect
// between the call and the return of its request, whatever the clocks of the two say.
func leaseHeld(s *store, key string, old, now object, rv int64) string {
	before, after := both[coordinationv1.Lease](old, now)
	if before == nil || after == nil {
		return ""
	}
	was, is := ptr.Deref(before.Spec.HolderIdentity, ""), ptr.Deref(after.Spec.HolderIdentity, "")
	renewed, taken := s.wrote[s.changed[key]], s.wrote[rv]
	if was == "" || is == "" || was == is || renewed == nil || taken == nil {
		return ""
	}
	term := time.Duration(ptr.Deref(before.Spec.LeaseDurationSeconds, 0)) * time.Second
	if most := time.Duration(taken.Return - renewed.Call); most < term {
		return fmt.Sprintf("%s takes the lease %s at most %v after %s has renewed it for %v", taken.Client, nameOf(key), most, renewed.Client, term)
	}
	return ""
}

// leaderActs looks at what was asked for once somebody else had been told that it leads. What was asked for before may
// take effect later: nothing fences leaders that have been.
func leaderActs(s *store, key string, old, now object, rv int64) string {
	if strings.HasPrefix(key, leases) {
		return ""
	}
	client, call := s.author(old, now, rv)
	name, _, _ := strings.Cut(client, " ") // a life of it
	for electorate, lease := range electorates {
		at := s.terms[lease]
		if !strings.HasPrefix(name, electorate) || at == nil || at.holder == name || at.began == nil || call <= at.began.Return {
			continue
		}
		whom := at.holder + " had taken the lease"
		if at.holder == "" {
			whom = at.began.Client + " had given the lease up"
		}
		return fmt.Sprintf("%s changes %s, which it asked for %v after %s", client, nameOf(key), time.Duration(call-at.began.Return), whom)
	}
	return ""
}

// author is who made a change, and when it asked for that; nobody if that is not known.
func (s *store) author(old, now object, rv int64) (client string, call int64) {
	if by := s.wrote[rv]; by != nil {
		return by.Client, by.Call
	}
	before, after := both[corev1.Pod](old, now)
	if after != nil && after.Spec.NodeName != "" && (before == nil || before.Spec.NodeName == "") && s.bindings != nil {
		if by := s.bindings.by[after.UID]; by != nil {
			return by.Client, by.Call
		}
	}
	return "", 0
}
