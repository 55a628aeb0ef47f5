package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// An endpoint slice of service r/service is being deleted, and stays.
func TestAnEndpointSliceIsKept(t *testing.T) {
	const lease = `leases/kube-system/kube-controller-manager {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"manager-0_1"}}`
	slice := `endpointslices/r/s {"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"uid":"s","namespace":"r","name":"s","labels":{"kubernetes.io/service-name":"service"}` + dying + `}}`
	lacks := func(w *world) { w.slice.Endpoints = nil }
	for name, row := range map[string]struct {
		slice string
		wrong func(*world)
		holds bool
	}{
		"the service lacks an endpoint":           {slice, lacks, false},
		"another object of that name is not done": {slice, func(w *world) { w.deployment.Name = "service"; w.deployment.Status.Replicas-- }, true},
		"the slice of another service":            {strings.Replace(slice, `"service"`, `"other"`, 1), lacks, true},
		"the slice of another namespace":          {strings.Replace(slice, `"r"`, `"s"`, 1), lacks, true},
		"the slice is not being deleted":          {strings.Replace(slice, dying, "", 1), lacks, true},
		"the slice is gone":                       {slice + "\nendpointslices/r/s -", lacks, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			seen := simtest.Seen{Committed: states(t, strings.Join([]string{lease, row.slice}, "\n")), Histories: map[string]*model.History{}}
			isFinding(t, late, seen, 65, !row.holds)
		})
	}
}
