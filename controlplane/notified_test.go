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

// at is a state of the object r/a.
func at(uid, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "r", Name: "a", UID: types.UID(uid), ResourceVersion: version}}
}

// gone is the notification of a deletion that a list has found.
func gone(o any) cache.DeletedFinalStateUnknown {
	return cache.DeletedFinalStateUnknown{Key: "r/a", Obj: o}
}

// registration is that of a handler which is synced or not.
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
		"an object from its addition to its deletion": {func(h *handler) { h.OnAdd(first, true); h.OnUpdate(first, second); h.OnDelete(at("1", "9")) }, nil},
		"another object of its name":                  {func(h *handler) { h.OnAdd(first, false); h.OnDelete(at("1", "6")); h.OnAdd(at("2", "7"), false) }, nil},
		"another object of its name in an update":     {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, at("2", "7")) }, nil},
		"a list that finds nothing new":               {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, at("1", "5")) }, nil},
		"a list that finds it gone":                   {func(h *handler) { h.OnAdd(first, false); h.OnDelete(gone(first)) }, nil},
		"a list that finds what nobody knows gone":    {func(h *handler) { h.OnAdd(first, false); h.OnDelete(gone(nil)) }, nil},
		"two at a time":                               {func(h *handler) { h.busy = true; h.OnAdd(first, false) }, []string{"OneAtATime"}},
		"an addition of what is there":                {func(h *handler) { h.OnAdd(first, false); h.OnAdd(second, false) }, []string{"ToldInOrder"}},
		"an update of what is not there":              {func(h *handler) { h.OnUpdate(first, second) }, []string{"ToldInOrder"}},
		"a deletion of what is not there":             {func(h *handler) { h.OnDelete(first) }, []string{"ToldInOrder"}},
		"an update that goes back":                    {func(h *handler) { h.OnAdd(second, false); h.OnUpdate(second, first) }, []string{"NeverBack"}},
		"another object of the same version":          {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, at("2", "5")) }, []string{"NeverBack"}},
		"a deletion without a version of its own":     {func(h *handler) { h.OnAdd(first, false); h.OnDelete(first) }, []string{"NeverBack"}},
		"an addition of what was gone already":        {func(h *handler) { h.OnAdd(first, false); h.OnDelete(at("1", "7")); h.OnAdd(at("2", "6"), false) }, []string{"NeverBack"}},
		"an update of what it was not given":          {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(at("1", "6"), second) }, []string{"OldWasGiven"}},
		"a deletion of what it was not given":         {func(h *handler) { h.OnAdd(first, false); h.OnDelete(gone(second)) }, []string{"OldWasGiven"}},
		"a resync":                                    {func(h *handler) { h.resync = time.Second; h.OnAdd(first, false); h.OnUpdate(first, first) }, nil},
		"a resync that a late handler may get":        {func(h *handler) { h.early = false; h.OnAdd(first, false); h.OnUpdate(first, first) }, nil},
		"a resync that nobody has asked for":          {func(h *handler) { h.OnAdd(first, false); h.OnUpdate(first, first) }, []string{"ResyncAsked"}},
		"an initial list that comes later":            {func(h *handler) { h.OnAdd(first, false); h.OnDelete(at("1", "6")); h.OnAdd(second, true) }, []string{"InitialFirst"}},
		"a handler that is synced before its time":    {func(h *handler) { h.registered = registration{synced: true}; h.OnAdd(first, true) }, []string{"SyncedLast"}},
		"a handler that is not synced yet":            {func(h *handler) { h.registered = registration{}; h.OnAdd(first, true) }, nil},
		"a word after the end":                        {func(h *handler) { h.end(); h.OnAdd(first, false) }, []string{"EndedIsSilent"}},
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

// A rule is said to be broken once.
func TestObserverSaysWhatIsBroken(t *testing.T) {
	o := &Observer{}
	require.Empty(t, o.Broken())
	h := newHandler("handler 1 of pods", o.report)
	h.OnDelete(at("1", "5"))
	h.OnDelete(at("1", "6"))
	require.Len(t, o.Broken(), 1)
	require.Contains(t, o.Broken()[0], "ToldInOrder is broken: handler 1 of pods is told that r/a was deleted, which it does not know.")
}
