package controlplane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// at returns a state of the object r/a.
func at(uid, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "r", Name: "a", UID: types.UID(uid), ResourceVersion: version}}
}

// gone returns the object of a deletion that a list has found.
func gone(o any) cache.DeletedFinalStateUnknown {
	return cache.DeletedFinalStateUnknown{Key: "r/a", Obj: o}
}

// registration is the registration of a handler that has synced or not.
type registration struct {
	cache.ResourceEventHandlerRegistration
	synced bool
}

func (r registration) HasSynced() bool { return r.synced }

func TestHandlerRules(t *testing.T) {
	first, second := at("1", "5"), at("1", "7")
	for name, test := range map[string]struct {
		told   func(h *handler)
		broken []string
	}{
		"addition, update and deletion":                  {func(h *handler) { h.OnAdd(first, true); h.OnUpdate(first, second); h.OnDelete(at("1", "9")) }, nil},
		"recreated object":                               {func(h *handler) { h.OnAdd(first, false); h.OnDelete(at("1", "6")); h.OnAdd(at("2", "7"), false) }, nil},
		"recreated object in an update":                  {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, at("2", "7")) }, nil},
		"relist of an unchanged object":                  {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, at("1", "5")) }, nil},
		"deletion found by a relist":                     {func(h *handler) { h.OnAdd(first, false); h.OnDelete(gone(first)) }, nil},
		"deletion found by a relist, last state unknown": {func(h *handler) { h.OnAdd(first, false); h.OnDelete(gone(nil)) }, nil},
		"two concurrent notifications":                   {func(h *handler) { h.busy = true; h.OnAdd(first, false) }, []string{"OneAtATime"}},
		"addition of a known object":                     {func(h *handler) { h.OnAdd(first, false); h.OnAdd(second, false) }, []string{"ToldInOrder"}},
		"update of an unknown object":                    {func(h *handler) { h.OnUpdate(first, second) }, []string{"ToldInOrder"}},
		"deletion of an unknown object":                  {func(h *handler) { h.OnDelete(first) }, []string{"ToldInOrder"}},
		"update to an older version":                     {func(h *handler) { h.OnAdd(second, false); h.OnUpdate(second, first) }, []string{"NeverBack"}},
		"recreated object at the same version":           {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, at("2", "5")) }, []string{"NeverBack"}},
		"deletion at the version of the last state":      {func(h *handler) { h.OnAdd(first, false); h.OnDelete(first) }, []string{"NeverBack"}},
		"addition older than the deletion":               {func(h *handler) { h.OnAdd(first, false); h.OnDelete(at("1", "7")); h.OnAdd(at("2", "6"), false) }, []string{"NeverBack"}},
		"update of a state that was not given":           {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(at("1", "6"), second) }, []string{"OldWasGiven"}},
		"deletion of a state that was not given":         {func(h *handler) { h.OnAdd(first, false); h.OnDelete(gone(second)) }, []string{"OldWasGiven"}},
		"resync":                                         {func(h *handler) { h.resync = time.Second; h.OnAdd(first, false); h.OnUpdate(first, first) }, nil},
		"resync of a late handler":                       {func(h *handler) { h.early = false; h.OnAdd(first, false); h.OnUpdate(first, first) }, nil},
		"resync without a resync period":                 {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, first) }, []string{"ResyncAsked"}},
		"initial list after other notifications":         {func(h *handler) { h.OnAdd(first, false); h.OnDelete(at("1", "6")); h.OnAdd(second, true) }, []string{"InitialFirst"}},
		"HasSynced before the initial list":              {func(h *handler) { h.registered = registration{synced: true}; h.OnAdd(first, true) }, []string{"SyncedLast"}},
		"handler that has not synced yet":                {func(h *handler) { h.registered = registration{}; h.OnAdd(first, true) }, nil},
		"notification after the end":                     {func(h *handler) { h.end(); h.OnAdd(first, false) }, []string{"EndedIsSilent"}},
	} {
		t.Run(name, func(t *testing.T) {
			var broken []string
			h := newHandler("h", func(rule HandlerRule, _ string) { broken = append(broken, rule.Name) })
			h.early = true
			test.told(h)
			require.Equal(t, test.broken, broken)
		})
	}
}

// Only the first violation of a rule is reported.
func TestObserverSaysWhatIsBroken(t *testing.T) {
	o := &Observer{}
	require.Empty(t, o.Broken())
	h := newHandler("handler 1 of pods", o.report)
	h.OnDelete(at("1", "5"))
	h.OnDelete(at("1", "6"))
	require.Len(t, o.Broken(), 1)
	require.Contains(t, o.Broken()[0], "ToldInOrder is broken: handler 1 of pods is told that r/a was deleted, which it does not know.")
}
