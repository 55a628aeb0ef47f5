package controlplane

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
)

// electionLeases are the leases of leader election, by the prefix of the candidates' names.
var electionLeases = map[string]string{managerName: leases + "kube-controller-manager", schedulerName: leases + "kube-scheduler"}

// term is the current term of a leader.
type term struct {
	// holder is the leader, empty for none; last is the last leader: a candidate that is told to stop at the end of a run releases its
	// lease. began is the request that acquired the lease. If the outcome of that is unknown,
	// began is the holder's first confirmed renewal, nil until then.
	holder, last string
	began        *model.Operation
}

// applyTerm records who leads.
func (s *store) applyTerm(key string, now object, rv int64) {
	lease, is := now.(*coordinationv1.Lease)
	if !is || !strings.HasPrefix(key, leases) {
		return
	}
	holder, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	if at := s.terms[key]; at == nil {
		s.terms[key] = &term{holder: holder, last: holder}
	} else if at.holder != holder {
		s.terms[key] = &term{holder: holder, last: cmp.Or(holder, at.last)}
	}
	if at := s.terms[key]; at.began == nil {
		at.began = s.wrote[rv]
	}
}

// leaseHeld compares the last renewal by the old holder with the first write of the new one. Each takes effect
// between the call and the return of its request, whatever the wall clocks say. Only its holder releases a lease.
func leaseHeld(s *store, key string, old, now object, rv int64) string {
	before, after := both[coordinationv1.Lease](old, now)
	if before == nil || after == nil {
		return ""
	}
	was, is := ptr.Deref(before.Spec.HolderIdentity, ""), ptr.Deref(after.Spec.HolderIdentity, "")
	renewed, taken := s.wrote[s.changed[key]], s.wrote[rv]
	holder, _, _ := strings.Cut(was, "_")
	if was != "" && is == "" && taken != nil && holder != programOf(taken.Client) {
		if s.isFinding(51, "leases.coordination.k8s.io", "a candidate has released the lease of its successor, which goes on as the leader") {
			s.robbed[holder] = true
			return ""
		}
		return fmt.Sprintf("%s releases the lease %s, which %s holds", taken.Client, nameOf(key), holder)
	}
	if was == "" || is == "" || was == is || renewed == nil || taken == nil {
		return ""
	}
	term := time.Duration(ptr.Deref(before.Spec.LeaseDurationSeconds, 0)) * time.Second
	if most := time.Duration(taken.Return - renewed.Call); most < term {
		return fmt.Sprintf("%s acquires the lease %s at most %v after %s has renewed it for %v", taken.Client, nameOf(key), most, renewed.Client, term)
	}
	return ""
}

// leaderActs checks requests that were sent after another candidate had received the answer that it leads. Requests that were sent
// before may take effect later: nothing fences former leaders.
func leaderActs(s *store, key string, old, now object, rv int64) string {
	if strings.HasPrefix(key, leases) {
		return ""
	}
	by := s.author(old, now, rv)
	if by == nil {
		return ""
	}
	name := programOf(by.Client)
	for prefix, lease := range electionLeases {
		at := s.terms[lease]
		if !strings.HasPrefix(name, prefix) || at == nil || at.holder == name || at.began == nil || by.Call <= at.began.Return || s.robbed[name] {
			continue
		}
		whom := at.holder + " had acquired the lease"
		if at.holder == "" {
			whom = at.began.Client + " had released the lease"
		}
		return fmt.Sprintf("%s changes %s by a request sent %v after %s", by.Client, nameOf(key), time.Duration(by.Call-at.began.Return), whom)
	}
	return ""
}

// programOf returns the name of a program's client without its life.
func programOf(client string) string {
	name, _, _ := strings.Cut(client, " ")
	return name
}

// author returns the request that made a change; nil if that is unknown.
func (s *store) author(old, now object, rv int64) *model.Operation {
	if by := s.deletedBy(rv); by != nil {
		return by
	}
	before, after := both[corev1.Pod](old, now)
	if after != nil && after.Spec.NodeName != "" && (before == nil || before.Spec.NodeName == "") && s.bindings != nil {
		if by := s.bindings.by[after.UID]; by != nil {
			return &by.Op
		}
	}
	return nil
}
