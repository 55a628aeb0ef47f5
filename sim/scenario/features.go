package scenario

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"runtime"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/sim"
)

// Features tell what is particular about a state that a run stands still in: each is a
// number for something that another state may have in common with it. They are made of
//
//   - where goroutines wait in the code around the cache, and how many there, in powers
//     of two;
//   - the phase of each server's cache, and all of them together;
//   - where goroutines wait while the cache of their server is in which phase;
//   - who is held up where, while somebody else waits where.
type Features struct {
	scopes []string
	places map[uint64]uint64 // by the callers of a goroutine: where it is in scope; 0 for nowhere
	now    []uint64
}

// aroundCache is the code whose waiting goroutines tell something, besides that of the
// cache.
var aroundCache = []string{
	"go.etcd.io/etcd/client/v3",
	"k8s.io/client-go/tools/cache",
	"k8s.io/apiserver/pkg/storage",
	"github.com/watchsim/watchsim/sim/target",
}

// NewFeatures prepares to look at runs of a target.
func NewFeatures(target string) *Features {
	return &Features{
		scopes: append([]string{CodeOf(target)}, aroundCache...),
		places: map[uint64]uint64{},
	}
}

// Of returns the features of a run where it stands still, in order and each once. What is
// returned is written over by the next call.
func (f *Features) Of(world *sim.World, run *Run) []uint64 {
	f.now = f.now[:0]
	if run.cluster == nil {
		return nil
	}
	phases, all := map[string]uint64{}, uint64(1)
	for i, phase := range run.cluster.Phases() {
		key := f.named("phase", fmt.Sprint(phase))
		phases[run.cluster.Servers()[i].Name()] = key
		all = f.both(all, key)
		f.now = append(f.now, key)
	}
	f.now = append(f.now, all)
	type place struct {
		process string
		at      uint64
		stalled bool
	}
	counts := map[place]int{}
	for _, waiter := range world.Waiting() {
		at := f.place(&waiter)
		if at == 0 {
			continue
		}
		counts[place{world.ProcessName(waiter), at, waiter.Stalled}]++
	}
	for here, count := range counts {
		at := here.at
		if here.stalled {
			at = f.both(at, 1)
		}
		f.now = append(f.now, f.both(at, uint64(16+bits.Len(uint(count)))))
		f.now = append(f.now, f.both(at, phases[here.process]))
		if !here.stalled {
			continue
		}
		for other := range counts {
			if other.process == here.process && other != here {
				f.now = append(f.now, f.both(at, f.both(other.at, 2)))
			}
		}
	}
	slices.Sort(f.now)
	f.now = slices.Compact(f.now)
	return f.now
}

// place is where a goroutine waits, as its innermost caller in scope, and 0 if it has
// none.
func (f *Features) place(waiter *sim.Waiter) uint64 {
	callers := waiter.Callers[:waiter.Frames]
	key := uint64(len(callers))
	for _, caller := range callers {
		key = f.both(key, uint64(caller))
	}
	at, known := f.places[key]
	if known {
		return at
	}
	frames := runtime.CallersFrames(callers)
	for {
		frame, more := frames.Next()
		if slices.ContainsFunc(f.scopes, func(scope string) bool { return strings.HasPrefix(frame.Function, scope) }) {
			at = f.named("place", fmt.Sprintf("%s:%d", frame.Function, frame.Line))
			break
		}
		if !more {
			break
		}
	}
	f.places[key] = at
	return at
}

func (*Features) named(kind, name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(kind + " " + name))
	return h.Sum64()
}

func (*Features) both(a, b uint64) uint64 {
	h := (a ^ 0x2545f4914f6cdd1d) * 0x9fb21c651e98df25
	h = (h ^ h>>29 ^ b) * 0x9fb21c651e98df25
	return h ^ h>>32
}
