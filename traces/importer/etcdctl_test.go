package importer

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/watchsim/watchsim/model"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// put returns an event, and remove the event of a deletion.
func put(key string, rv int64, value string) string {
	return fmt.Sprintf(`{"kv":{"key":"%s","create_revision":2,"mod_revision":%d,"version":1,"value":"%s"}}`, encoded(key), rv, encoded(value))
}

func remove(key string, rv int64) string {
	return fmt.Sprintf(`{"type":1,"kv":{"key":"%s","mod_revision":%d}}`, encoded(key), rv)
}

func watched(revision int64, events ...string) string {
	return fmt.Sprintf(`{"Header":{"cluster_id":14841639068965178418,"member_id":10276657743932975437,"revision":%d,"raft_term":2},"Events":[%s],"CompactRevision":0,"Canceled":false,"Created":false}`+"\n",
		revision, strings.Join(events, ","))
}

func got(revision int64, keys ...string) string {
	for i := range keys {
		keys[i] = strings.TrimSuffix(strings.TrimPrefix(keys[i], `{"kv":`), "}")
	}
	return fmt.Sprintf(`{"header":{"revision":%d},"kvs":[%s],"count":%d}`+"\n", revision, strings.Join(keys, ","), len(keys))
}

// etcdctl reads several files, given the --rev of a watch.
func etcdctl(from int64, files ...string) func(*Recording) error {
	return func(recording *Recording) error {
		recording.Resource = "pods"
		for _, text := range files {
			if err := readEtcdctl(recording, from, "f", strings.NewReader(text)); err != nil {
				return err
			}
		}
		return nil
	}
}

// stored returns a pod as stored by Kubernetes: an envelope with the type and the object,
// in protobuf.
func stored(kind, namespace, name, uid, node string) string {
	field := func(b []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
	}
	label := field(field(nil, 1, []byte("app")), 2, []byte("web"))
	meta := field(field(field(field(nil, 1, []byte(name)), 3, []byte(namespace)), 5, []byte(uid)), 11, label)
	meta = protowire.AppendVarint(protowire.AppendTag(meta, 7, protowire.VarintType), 1) // the generation
	object := field(field(nil, 1, meta), 2, field(nil, 10, []byte(node)))
	envelope := field(field(nil, 1, field(field(nil, 1, []byte("v1")), 2, []byte(kind))), 2, object)
	return "k8s\x00" + string(envelope)
}

func TestStateAndChangesAreRead(t *testing.T) {
	const a, b = "/registry/pods/default/a", "/registry/pods/default/b"
	h, left, err := historyOf(etcdctl(11,
		got(10, put(b, 7, `{"metadata":{"namespace":"default","name":"b","uid":"v"},"spec":{"nodeName":"n2"}}`), put(a, 5, stored("Pod", "default", "a", "u", "n1"))),
		watched(12, put("/registry/leases/x/y", 11, "?"), put(a, 12, "k8s:enc:secretbox:v1:key:x"))+watched(13, remove(b, 13))))
	require.NoError(t, err)
	require.Equal(t, []string{"1 keys in etcd that are not below pods"}, left)
	require.EqualValues(t, 13, h.Truth.Revision)
	require.Equal(t, []model.Change{
		{RV: 5, Object: model.Object{Namespace: "default", Name: "a", UID: "u", Node: "n1", Labels: map[string]string{"app": "web"}, Value: "unknown@5", RV: 5}},
		{RV: 7, Object: model.Object{Namespace: "default", Name: "b", UID: "v", Node: "n2", Value: "unknown@7", RV: 7}},
		{RV: 12, Object: model.Object{Namespace: "default", Name: "a", UID: "u", Value: "unknown@12", RV: 12}},
		{RV: 13, Deleted: true, Object: model.Object{Namespace: "default", Name: "b", UID: "v", Node: "n2", Value: "unknown@7", RV: 13}},
	}, h.Truth.Changes)
}

// TestALeaseExpiresForTwoObjects: etcd deletes both at one revision. API servers write one object at a time.
func TestALeaseExpiresForTwoObjects(t *testing.T) {
	const a, b = "/registry/pods/default/a", "/registry/pods/default/b"
	h, _, err := historyOf(etcdctl(11, got(10, put(a, 5, "{}"), put(b, 7, "{}")), watched(12, remove(b, 12), remove(a, 12))))
	require.NoError(t, err)
	require.Equal(t, []model.Change{
		{RV: 5, Object: model.Object{Namespace: "default", Name: "a", Value: "unknown@5", RV: 5}},
		{RV: 7, Object: model.Object{Namespace: "default", Name: "b", Value: "unknown@7", RV: 7}},
		{RV: 12, Deleted: true, Expired: true, Object: model.Object{Namespace: "default", Name: "a", Value: "unknown@5", RV: 12}},
		{RV: 12, Deleted: true, Expired: true, Object: model.Object{Namespace: "default", Name: "b", Value: "unknown@7", RV: 12}},
	}, h.Truth.Changes)
}

func TestKeysOfResources(t *testing.T) {
	for key, row := range map[string]struct {
		resource, want string
	}{
		"/registry/pods/default/a":                      {"pods", "default/a"},
		"/registry/minions/node-1":                      {"nodes", "node-1"},
		"/registry/services/specs/default/web":          {"services", "default/web"},
		"/registry/deployments/default/web":             {"deployments.apps", "default/web"},
		"/registry/example.com/widgets/default/w":       {"widgets.example.com", "default/w"},
		"/registry/podtemplates/default/a":              {"pods", ""},
		"/registry/pods/default/a/b":                    {"pods", ""},
		"/registry/pods/":                               {"pods", ""},
		"/registry/pods//a":                             {"pods", ""},
		"/registry/other.example.com/widgets/default/w": {"widgets.example.com", ""},
		"/registry/x.dev/x.dev/widgets/default/first":   {"widgets.x.dev", "default/first"},
		"/kubernetes.io/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com": {"customresourcedefinitions.apiextensions.k8s.io", "widgets.example.com"},
	} {
		found, is := keyOf(key, etcdPrefixes(row.resource))
		require.Equal(t, row.want != "", is, key)
		if is {
			require.Equal(t, row.want, found.String(), key)
		}
	}
}

func TestBadEtcdctlOutputIsRefusedWithAPosition(t *testing.T) {
	const a = "/registry/pods/default/a"
	for name, row := range map[string]struct{ text, says string }{
		"other JSON":                  {`{"kind":"Pod"}`, "f:1 (byte 0): expected a response of etcd with the revision in its header, found none; was etcdctl given -w json?"},
		"plain output":                {"PUT\n/registry", `f:1 (byte 0): expected a JSON object, found "PUT\n/registry"`},
		"disorder":                    {watched(9, put(a, 9, "")) + watched(9, put(a, 8, "")), "f:2 (byte "},
		"an update twice":             {watched(9, put(a, 9, ""), put(a+"b", 9, "")), "expected events in order of their revision, one for each unless a lease has expired, found 9 after 9"},
		"no revision":                 {watched(9, put(a, 0, "")), "expected a mod_revision from 1 on, found 0"},
		"no key":                      {watched(9, `{"type":1}`), "expected an event with a key, found one without"},
		"a limit":                     {`{"header":{"revision":9},"more":true,"kvs":[]}`, "expected all keys, found that more remain; leave --limit out"},
		"above the header's revision": {got(9, put(a, 10, "")), "expected keys of at most the header's revision 9, found one of 10"},
		"not base64":                  {strings.Replace(watched(9, put(a, 9, "x")), encoded("x"), "***", 1), "f:1 (byte 0): expected a list of events with keys, found something else"},
		"one RV of two":               {got(9, put(a, 5, ""), put(a+"b", 5, "")), "expected each key to have been changed at a revision of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := historyOf(etcdctl(0, row.text))
			require.ErrorContains(t, err, row.says)
			require.Regexp(t, `^f:[0-9]+ \(byte [0-9]+\): `, err.Error())
		})
	}
}

// FuzzEtcdctl reads arbitrary input. The reader refuses it with a position, or makes a
// valid history.
func FuzzEtcdctl(f *testing.F) {
	const a, b = "/registry/pods/default/a", "/registry/pods/default/b"
	f.Add(watched(12, put(a, 12, stored("Pod", "default", "a", "u", "n"))) + watched(13, remove(a, 13)))
	f.Add(got(10, put(b, 7, `{"metadata":{"namespace":"default","name":"b"}}`)))
	f.Add(strings.Replace(watched(9), `"CompactRevision":0`, `"CompactRevision":5`, 1))
	f.Fuzz(func(t *testing.T, text string) { refusedOrRead(t, etcdctl(0, text)) })
}
