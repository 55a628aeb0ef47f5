package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// namespaceOf returns namespace r with a UID and further metadata.
func namespaceOf(uid, metadata string) string {
	return `namespaces/r {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"r","uid":"` + uid + `"` + metadata + "}}\n"
}

// An API server that has not observed a namespace's deletion for five seconds may admit objects that stay. One that has set the deletionTimestamp, or has sent it to clients, may not.
func TestCreatedByStaleServer(t *testing.T) {
	before, marked := namespaceOf("u", ""), namespaceOf("u", `,"deletionTimestamp":"2000-01-01T00:00:00Z"`)
	object, gone := `pods/r/pod `+pod("pod", `,"namespace":"r","name":"pod"`, "", "")+"\n", "namespaces/r -\n"
	const created = int64(time.Minute)
	on := func(server string, kind model.Kind, asked, answered, at int64) model.Operation {
		return model.Operation{Server: server, Kind: kind, RV: asked, ResultRV: answered, Call: at, Return: at}
	}
	told := func(server string, rv, at int64) *model.History {
		return &model.History{Streams: []model.Stream{{Server: server, Events: []model.Event{{Type: model.Bookmark, RV: rv, Time: at}}}}}
	}
	asked := func(op model.Operation) *model.History { return &model.History{Operations: []model.Operation{op}} }
	early, late := created-int64(6*time.Second), created-int64(4*time.Second)
	for name, row := range map[string]struct {
		states string
		spaces *model.History
		marker string
		by     bool
		holds  bool
	}{
		"nothing shows that it knew":         {before + marked + object + gone, &model.History{}, "else", true, false},
		"watch event before the deletion":    {before + marked + object + gone, told("mine", 1, early), "else", true, false},
		"watch event too late":               {before + marked + object + gone, told("mine", 2, late), "else", true, false},
		"watch event of the deletion":        {before + marked + object + gone, told("mine", 2, early), "else", true, true},
		"watch event of another server":      {before + marked + object + gone, told("else", 2, early), "else", true, false},
		"list from the cache":                {before + marked + object + gone, asked(on("mine", model.List, 0, 2, early)), "else", true, true},
		"list from the cache, too late":      {before + marked + object + gone, asked(on("mine", model.List, 0, 2, late)), "else", true, false},
		"list from etcd":                     {before + marked + object + gone, asked(on("mine", model.List, model.RVUnset, 2, early)), "else", true, false},
		"list from another server":           {before + marked + object + gone, asked(on("else", model.List, 0, 2, early)), "else", true, false},
		"list before the deletion":           {before + marked + object + gone, asked(on("mine", model.List, 0, 1, early)), "else", true, false},
		"it deleted the namespace":           {before + marked + object + gone, &model.History{}, "mine", true, true},
		"object created before the deletion": {before + object + marked + gone, &model.History{}, "else", true, true},
		"namespace not deleted":              {before + object, &model.History{}, "else", true, true},
		"creator unknown":                    {before + marked + object + gone, &model.History{}, "else", false, true},
		"no history of namespaces":           {before + marked + object + gone, nil, "else", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.spaces[0].Name = "s"
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.ErrorContains(t, late, "is in a namespace that is gone")
			committed := states(t, row.states)
			pods := &model.History{}
			for _, change := range committed.Changes {
				switch {
				case strings.Contains(change.Object.Value, "deletionTimestamp"):
					end := on(row.marker, model.Delete, 0, change.RV, early)
					pods.Operations = append(pods.Operations, end)
				case strings.HasPrefix(change.Object.Name, "/registry/pods/") && row.by:
					pods.Operations = append(pods.Operations, on("mine", model.Create, 0, change.RV, created))
				}
			}
			histories := map[string]*model.History{"pods": pods}
			if row.spaces != nil {
				histories["namespaces"] = row.spaces
			}
			var noted []string
			plane := &controlplane.Plane{}
			plane.SetOverdue(late)
			broken, err := plane.Broken(simtest.Seen{Committed: committed, Histories: histories, Unjudged: func(_, why string) { noted = append(noted, why) }})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
			require.Equal(t, row.holds, len(noted) == 0, noted)
		})
	}
}

// A controller's create is refused at 100 s in a namespace that was recreated at 90 s, by an API server that may not know that.
func TestRefusedByStaleServer(t *testing.T) {
	recreated := managerLeads + namespaceOf("u", "") + namespaceOf("u", dying) + "namespaces/r -\n" + namespaceOf("v", "")
	refusal := func(client, server, namespace string, code int, at time.Duration) *importer.Told {
		return &importer.Told{Exchange: importer.Exchange{Kind: model.Create, Request: importer.Request{Scope: model.Scope{Namespace: namespace}}, Client: client, Server: server, Code: code, Call: int64(at)}}
	}
	told := func(server string, rv int64, at time.Duration) *model.History {
		return &model.History{Streams: []model.Stream{{Server: server, Events: []model.Event{{Type: model.Bookmark, RV: rv, Time: int64(at)}}}}}
	}
	const when, s = 100 * time.Second, time.Second
	stale := refusal("manager-0", "stale", "r", 403, when)
	for name, row := range map[string]struct {
		states  string
		refused *importer.Told
		spaces  *model.History
		maker   string
		fixed   string
		holds   bool
	}{
		"by one that may not know":           {recreated, stale, &model.History{}, "other", "", false},
		"by one that may not know, fixed":    {recreated, stale, &model.History{}, "other", "fix-finding-60", true},
		"by one that learns it later":        {recreated, stale, told("stale", 5, when+s), "other", "", false},
		"by one that knows the deletion":     {recreated, stale, told("stale", 4, when-s), "other", "", false},
		"by one that knows":                  {recreated, stale, told("stale", 5, when-s), "other", "", true},
		"by one that has recreated it":       {recreated, stale, &model.History{}, "stale", "", true},
		"another's":                          {recreated, refusal("manager-1", "stale", "r", 403, when), &model.History{}, "other", "", true},
		"in another namespace":               {recreated, refusal("manager-0", "stale", "b", 403, when), &model.History{}, "other", "", true},
		"for another reason":                 {recreated, refusal("manager-0", "stale", "r", 409, when), &model.History{}, "other", "", true},
		"before it was recreated":            {recreated, refusal("manager-0", "stale", "r", 403, 80*s), &model.History{}, "other", "", true},
		"in a namespace that is terminating": {managerLeads + namespaceOf("v", "") + namespaceOf("v", dying), stale, &model.History{}, "other", "", true},
		"in a namespace that is new":         {managerLeads + namespaceOf("v", ""), stale, &model.History{}, "other", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(mutant.Variable, row.fixed)
			w := settled()
			w.set.Spec.Replicas = new(int32(2))
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			committed := states(t, row.states)
			for _, change := range committed.Changes {
				if strings.Contains(change.Object.Value, `"uid":"v"`) && !strings.Contains(change.Object.Value, "deletionTimestamp") {
					row.spaces.Operations = append(row.spaces.Operations, model.Operation{Kind: model.Create, Server: row.maker, ResultRV: change.RV, Call: int64(90 * s), Return: int64(90 * s)})
				}
			}
			plane := &controlplane.Plane{}
			plane.SetOverdue(late)
			broken, err := plane.Broken(simtest.Seen{Committed: committed, Histories: map[string]*model.History{"namespaces": row.spaces, "pods": {Streams: []model.Stream{{Client: "manager-0", Call: 1}}}}, Requests: map[string][]*importer.Told{"pods": {row.refused}}})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
		})
	}
}
