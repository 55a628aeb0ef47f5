package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// An endpoint slice of service r/service is being deleted, and stays.
func TestAnEndpointSliceIsKept(t *testing.T) {
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
			seen := simtest.Seen{Committed: states(t, managerLeads+row.slice), Histories: map[string]*model.History{}}
			isFinding(t, late, seen, 65, !row.holds)
		})
	}
}

// An endpoint slice of service r/service is deleted from 20 to 30 while manager-0 writes it.
func TestAnEndpointSliceIsDeletedWhileItIsWritten(t *testing.T) {
	lacks := func(w *world) { w.slice.Endpoints = nil }
	same := func(*importer.Exchange) {}
	for name, row := range map[string]struct {
		write, deletion func(*importer.Exchange)
		wrong           func(*world)
		holds           bool
	}{
		"the answer is late":                      {same, same, lacks, false},
		"another object of that name is not done": {same, same, func(w *world) { w.deployment.Name = "service"; w.deployment.Status.Replicas-- }, true},
		"the answer came before":                  {func(x *importer.Exchange) { x.Return = 19 }, same, lacks, true},
		"it is written later":                     {func(x *importer.Exchange) { x.Call = 31 }, same, lacks, true},
		"the write fails":                         {func(x *importer.Exchange) { x.Err = model.Conflict }, same, lacks, true},
		"another life writes":                     {func(x *importer.Exchange) { x.Client = "manager-0" }, same, lacks, true},
		"another slice is deleted":                {same, func(x *importer.Exchange) { x.Scope.Name = "service-b" }, lacks, true},
		"the slice of another service":            {func(x *importer.Exchange) { x.Scope.Name = "b-a" }, func(x *importer.Exchange) { x.Scope.Name = "b-a" }, lacks, true},
		"of another namespace":                    {func(x *importer.Exchange) { x.Scope.Namespace = "s" }, func(x *importer.Exchange) { x.Scope.Namespace = "s" }, lacks, true},
		"it is read":                              {func(x *importer.Exchange) { x.Kind = model.Get }, same, lacks, true},
		"it is written twice":                     {same, func(x *importer.Exchange) { x.Kind = model.Update }, lacks, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			slice := importer.Request{Scope: model.Scope{Namespace: "r", Name: "service-a"}}
			write := importer.Exchange{Kind: model.Update, Request: slice, Client: "manager-0 (life 2)", Call: 10, Return: 40}
			deletion := importer.Exchange{Kind: model.Delete, Request: slice, Client: "user", Call: 20, Return: 30}
			row.write(&write)
			row.deletion(&deletion)
			seen := simtest.Seen{Committed: states(t, managerLeads), Requests: map[string][]*importer.Told{"endpointslices.discovery.k8s.io": {{Exchange: write}, {Exchange: deletion}}},
				Histories: map[string]*model.History{"pods": {Streams: []model.Stream{{Client: "manager-0 (life 2)", Call: 1}}}}}
			plane := &controlplane.Plane{}
			plane.SetOverdue(late)
			broken, err := plane.Broken(seen)
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) > 0)
		})
	}
}
