package controlplane_test

import (
	"strings"
	"testing"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
)

// claim returns the claim c with a UID, further metadata, a spec and a phase.
func claim(uid, metadata, spec, phase string) string {
	return `persistentvolumeclaims/r/c {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"namespace":"r","name":"c","uid":"` + uid + `"` + metadata + `},"spec":{` + spec +
		`},"status":{"phase":"` + phase + "\"}}\n"
}

// volume returns the volume v with the UID of its claim, further metadata, a reclaim policy and a phase.
func volume(of, metadata, policy, phase string) string {
	ref := ""
	if of != "" {
		ref = `,"claimRef":{"namespace":"r","name":"c","uid":"` + of + `"}`
	}
	return `persistentvolumes/v {"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v","uid":"v"` + metadata + `},"spec":{"persistentVolumeReclaimPolicy":"` + policy + `"` + ref +
		`},"status":{"phase":"` + phase + "\"}}\n"
}

// using returns a pod of a name that uses the claim.
func using(name, metadata, spec, phase string) string {
	return "pods/r/" + name + " " + pod(name, `,"namespace":"r","name":"`+name+`"`+metadata, spec+`,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]`, phase) + "\n"
}

// keeping returns a pod of a name whose ephemeral volume is the claim c of pod "".
func keeping(uid, phase string) string {
	return "pods/r/p " + pod(uid, `,"namespace":"r","name":"p"`, bound+`,"volumes":[{"name":"v","ephemeral":{}}]`, phase) + "\n"
}

const (
	protected = `,"finalizers":["kubernetes.io/pvc-protection"]`
	once      = `"accessModes":["ReadWriteOncePod"]`
	onV       = `"volumeName":"v"`
	someNode  = `minions/n {"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"},"status":{"allocatable":{"pods":"2"}}}` + "\n"
)

func TestRulesAboutVolumes(t *testing.T) {
	ephemeral := func(owner string) string {
		c := claim("c", protected+owned("Pod", owner), "", "") + claim("c", protected+dying+owned("Pod", owner), "", "")
		return strings.NewReplacer("/r/c", "/r/p-v", `"name":"c"`, `"name":"p-v"`).Replace(c)
	}
	const gone, goneEphemeral = "persistentvolumeclaims/r/c -\n", "persistentvolumeclaims/r/p-v -\n"
	condemned := claim("c", protected, "", "") + claim("c", protected+dying, "", "")
	shared := someNode + claim("c", "", once, "") + using("a", "", bound, "Running")
	second, more := using("b", "", bound, "Pending"), strings.NewReplacer("/n ", "/m ", `"n"`, `"m"`)
	ghost := more.Replace(someNode+using("c", "", bound, "Running")) + "minions/m -\n"
	for name, row := range map[string]struct{ states, broken string }{
		"a second pod after a node with one":            {ghost + shared + second, ""},
		"a second pod after a node without one":         {more.Replace(someNode) + "minions/m -\n" + shared + second, "UsedOnce"},
		"a claim that is used":                          {using("a", "", bound, "Running") + condemned + gone, "ClaimIsKept"},
		"a claim that only loses its finalizer":         {using("a", "", bound, "Running") + condemned + claim("c", dying, "", ""), "ClaimIsKept"},
		"a claim of a pod that has ended":               {using("a", "", bound, "Succeeded") + condemned + gone, "ClaimIsKept"},
		"a claim of a pod on no node":                   {using("a", "", `"nodeName":""`, "Pending") + condemned + gone, ""},
		"a claim of a pod that is placed later":         {condemned + using("a", "", bound, "Running") + gone, ""},
		"a claim of a pod that is gone":                 {using("a", "", bound, "Running") + condemned + "pods/r/a -\n" + gone, ""},
		"a claim of another pod":                        {"pods/r/a " + pod("a", `,"namespace":"r"`, bound, "") + "\n" + condemned + gone, ""},
		"an ephemeral claim":                            {keeping("p", "Running") + ephemeral("p") + goneEphemeral, "ClaimIsKept"},
		"an ephemeral claim of an earlier pod":          {keeping("p", "Running") + ephemeral("q") + goneEphemeral, ""},
		"an ephemeral claim of a pod that has ended":    {keeping("p", "Failed") + ephemeral("p") + goneEphemeral, "ClaimIsKept"},
		"an ephemeral claim of a pod that is deleted":   {keeping("p", "Running") + strings.Replace(keeping("p", "Running"), `"uid":"p"`, `"uid":"p"`+dying+`,"deletionGracePeriodSeconds":30`, 1) + ephemeral("p") + goneEphemeral, "ClaimIsKept"},
		"an ephemeral claim of a pod that is shut down": {keeping("p", "Running") + strings.Replace(keeping("p", "Running"), `"uid":"p"`, `"uid":"p"`+dying+`,"deletionGracePeriodSeconds":0`, 1) + ephemeral("p") + goneEphemeral, ""},

		"a volume that is bound is removed":             {volume("c", "", "Delete", "Bound") + claim("c", "", onV, "Bound") + "persistentvolumes/v -\n", "VolumeIsKept"},
		"a volume whose claim is not bound yet":         {volume("c", "", "Delete", "Bound") + claim("c", "", "", "Pending") + "persistentvolumes/v -\n", ""},
		"a volume whose claim is gone":                  {volume("c", "", "Delete", "Bound") + claim("c", "", onV, "Bound") + gone + "persistentvolumes/v -\n", ""},
		"a volume that is released":                     {volume("c", "", "Delete", "Released") + claim("d", "", onV, "Pending") + "persistentvolumes/v -\n", ""},
		"a volume is given to another claim":            {volume("c", "", "Retain", "Bound") + claim("c", "", onV, "Bound") + gone + volume("d", "", "Retain", "Bound"), "OneToOne"},
		"a volume is given to another claim later":      {volume("c", "", "Retain", "Bound") + claim("c", "", onV, "Bound") + gone + volume("", "", "Retain", "Available") + volume("d", "", "Retain", "Bound"), "OneToOne"},
		"a volume is given away before it is bound":     {volume("c", "", "Retain", "Bound") + claim("c", "", onV, "Pending") + volume("", "", "Retain", "Available") + volume("d", "", "Retain", "Bound"), ""},
		"a volume gets its claim":                       {volume("", "", "Retain", "Available") + volume("c", "", "Retain", "Bound") + claim("c", "", onV, "Bound"), ""},
		"a claim is bound to a volume that is not its":  {volume("d", "", "Retain", "Bound") + claim("c", "", onV, "Bound"), "OneToOne"},
		"a claim is bound to a volume that was its own": {volume("c", "", "Retain", "Bound") + "persistentvolumes/v -\n" + claim("c", "", onV, "Bound"), ""},

		"a claim is lost with its volume":         {claim("c", "", onV, "Lost"), ""},
		"a claim is lost while its volume exists": {volume("c", "", "Retain", "Bound") + claim("c", "", onV, "Bound") + claim("c", "", onV, "Lost"), "LostIsGone"},
		"a claim is lost to another one":          {volume("d", "", "Retain", "Bound") + claim("c", "", onV, "Lost"), ""},

		"a second pod":                          {someNode + claim("c", "", once, "") + using("a", "", bound, "Running") + using("b", "", bound, "Pending"), "UsedOnce"},
		"a second pod of a claim for many":      {someNode + claim("c", "", "", "") + using("a", "", bound, "Running") + using("b", "", bound, "Pending"), ""},
		"a second pod that waits":               {someNode + claim("c", "", once, "") + using("a", "", bound, "Running") + using("b", "", `"nodeName":""`, "Pending"), ""},
		"a second pod after the first":          {someNode + claim("c", "", once, "") + using("a", "", bound, "Succeeded") + using("b", "", bound, "Pending"), ""},
		"a pod of a node that is gone":          {someNode + claim("c", "", once, "") + using("a", "", bound, "Running") + "minions/n -\n" + using("b", "", bound, "Pending"), ""},
		"a pod of a node that is gone and back": {someNode + claim("c", "", once, "") + using("a", "", bound, "Running") + "minions/n -\n" + strings.ReplaceAll(someNode, `"uid":"n"`, `"uid":"m"`) + using("b", "", bound, "Pending"), ""},
	} {
		t.Run(name, func(t *testing.T) { breaks(t, simtest.Seen{Committed: states(t, row.states)}, row.broken) })
	}
	t.Setenv(mutant.Variable, "fix-finding-59")
	breaks(t, simtest.Seen{Committed: states(t, ghost+shared+second)}, "UsedOnce")
}

// A pod that is shut down uses a claim until it is gone, which the fix of finding 62 changes.
func TestAClaimOfAPodThatIsShutDown(t *testing.T) {
	const deleted = dying + `,"deletionGracePeriodSeconds":`
	for name, row := range map[string]struct{ metadata, released, fixed string }{
		"shut down":              {deleted + "0", "ClaimIsKept", ""},
		"has its grace period":   {deleted + "30", "ClaimIsKept", "ClaimIsKept"},
		"not being deleted":      {`,"deletionGracePeriodSeconds":0`, "ClaimIsKept", "ClaimIsKept"},
		"without a grace period": {dying, "ClaimIsKept", "ClaimIsKept"},
	} {
		t.Run(name, func(t *testing.T) {
			lost := using("a", row.metadata, bound, "Running") + claim("c", protected, "", "") + claim("c", protected+dying, "", "") + "persistentvolumeclaims/r/c -\n"
			breaks(t, simtest.Seen{Committed: states(t, lost)}, row.released)
			t.Setenv(mutant.Variable, "fix-finding-62")
			breaks(t, simtest.Seen{Committed: states(t, lost)}, row.fixed)
		})
	}
}

// A volume is deleted by somebody.
func TestDataIsKept(t *testing.T) {
	const manager, provisioner, user = "manager-0 pv-binder ", "provisioner provisioner ", "user kubectl "
	released := user + volume("c", "", "Delete", "Released")
	for name, row := range map[string]struct{ lines, broken string }{
		"of a claim that is gone":                      {released + provisioner + "persistentvolumes/v -\n", ""},
		"of another claim of its name":                 {user + claim("d", "", "", "") + released + provisioner + "persistentvolumes/v -\n", ""},
		"of a claim that exists":                       {user + claim("c", "", "", "") + released + provisioner + "persistentvolumes/v -\n", "DataIsKept"},
		"of a claim that exists, by a manager":         {user + claim("c", "", onV, "Pending") + released + manager + "persistentvolumes/v -\n", "DataIsKept"},
		"of a claim that exists, by a user":            {user + claim("c", "", onV, "Pending") + released + user + "persistentvolumes/v -\n", ""},
		"that is kept":                                 {user + volume("c", "", "Retain", "Released") + provisioner + "persistentvolumes/v -\n", "DataIsKept"},
		"that is kept and was deleted before, by hand": {user + volume("c", dying, "Retain", "Released") + provisioner + "persistentvolumes/v -\n", ""},
	} {
		t.Run(name, func(t *testing.T) { breaks(t, recorded(t, row.lines), row.broken) })
	}
}
