package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/importer"
)

// secret must not be written to any file.
const secret = "c3dvcmRmaXNo"

// pod is an object full of secrets. The values that are omitted from the file are also
// hostile to its readers.
func pod(kind, name string, rv int) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":"v1","metadata":{"namespace":"default","name":%q,"uid":"uid-%s","resourceVersion":"%d",`+
		`"labels":{"app":"web","token":"%[5]s"},"annotations":{"%[5]s":"</script><script>alert(1)</script>\u0000\n"},`+
		`"managedFields":[{"manager":"%[5]s"}]},"data":{"password":"%[5]s"},"stringData":{"%[5]s":"x"},`+
		`"spec":{"nodeName":"n1","env":[{"value":"%[5]s"}]},"status":{"message":"%[5]s"}}`, kind, name, name, rv, secret)
}

// handle returns an API server whose responses have a media type, unless they set another.
func handle(t *testing.T, media string, answer http.HandlerFunc) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", media)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// answers returns an API server with the given responses.
func answers(t *testing.T) *httptest.Server {
	return handle(t, "application/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", secret)
		w.Header().Set("Audit-Id", r.Method+" "+r.URL.RawQuery)
		kind := "Pod"
		if strings.Contains(r.URL.Path, "secrets") {
			kind = "Secret"
		}
		switch query := r.URL.Query(); {
		case query.Get("labelSelector") == "app in (a)", r.Method == http.MethodOptions:
			fmt.Fprint(w, "{}")
		case query.Get("watch") != "":
			for i, event := range []string{"ADDED", "MODIFIED", "DELETED"} {
				fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", event, pod(kind, "b", 20+i))
				w.(http.Flusher).Flush()
			}
			fmt.Fprintf(w, `{"type":"ERROR","object":{"kind":"Status","code":410,"message":%q}}`, secret)
		case r.Method == http.MethodPost && query.Get("fail") != "":
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"kind":"Status","code":409,"reason":"AlreadyExists","message":%q}`, secret)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, pod(kind, "a", 10))
		case r.Method == http.MethodPut:
			fmt.Fprint(w, pod(kind, "a", 12))
		case r.Method == http.MethodDelete:
			fmt.Fprint(w, `{"kind":"Status","status":"Success"}`)
		case strings.HasSuffix(r.URL.Path, "/a"):
			fmt.Fprint(w, pod(kind, "a", 10))
		default:
			fmt.Fprintf(w, `{"kind":"%sList","metadata":{"resourceVersion":"15"},"items":[%s]}`, kind, strings.Replace(pod(kind, "a", 12), fmt.Sprintf(`"kind":%q,`, kind), "", 1))
		}
	})
}

// send sends a request through a recorder.
func send(t *testing.T, r *Recorder, server *httptest.Server, method, path, body, media string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header = http.Header{"Authorization": {"Bearer " + secret}, "Cookie": {secret}, "Content-Type": {media}}
	response, err := r.Wrap("a", "c")(http.DefaultTransport).RoundTrip(request)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// ask sends a request and reads the whole response, byte by byte.
func ask(t *testing.T, r *Recorder, server *httptest.Server, method, path, body string) string {
	t.Helper()
	response := send(t, r, server, method, path, body, "application/json")
	text, err := io.ReadAll(iotest.OneByteReader(response.Body))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return string(text)
}

// askAll sends one request of each kind.
func askAll(t *testing.T, r *Recorder, resource string) {
	server := answers(t)
	base := "/api/v1/namespaces/default/" + resource
	created := ask(t, r, server, http.MethodPost, base, pod("Pod", "a", 0))
	require.Equal(t, ask(t, r, server, http.MethodGet, base+"/a", ""), created, "nothing is changed on the way")
	ask(t, r, server, http.MethodPut, base+"/a", pod("Pod", "a", 10))
	ask(t, r, server, http.MethodPost, base+"?fail=1", pod("Pod", "a", 0))
	ask(t, r, server, http.MethodGet, base+"?resourceVersion=0", "")
	ask(t, r, server, http.MethodGet, base+"?labelSelector=app+in+(a)", "")
	ask(t, r, server, http.MethodGet, base+"?watch=1&resourceVersion=15&allowWatchBookmarks=true", "")
	ask(t, r, server, http.MethodDelete, base+"/a", secret)
	ask(t, r, server, http.MethodGet, "/api/v1/nodes?token="+secret, "")
}

func written(t *testing.T, r *Recorder) (*model.History, []string, string) {
	t.Helper()
	header, h, notes, err := r.History()
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, traces.WriteHistory(&file, header, h))
	_, again, err := traces.ReadValidHistory(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Len(t, again.Streams, len(h.Streams))
	return h, notes, file.String() + strings.Join(notes, "\n")
}

// TestNothingSecretIsWritten records objects, headers, bodies and messages with a secret
// everywhere, and searches the file for it.
func TestNothingSecretIsWritten(t *testing.T) {
	for _, resource := range []string{"pods", "secrets"} {
		t.Run(resource, func(t *testing.T) {
			r := New(resource, Options{})
			askAll(t, r, resource)
			h, notes, file := written(t, r)
			require.Len(t, h.Streams, 1)
			require.Len(t, h.Streams[0].Events, 4)
			require.Equal(t, model.Expired, h.Streams[0].Events[3].Err)
			require.Len(t, notes, 3, "%v", notes)
			for _, content := range []string{secret, "script", "password", "annotations", "web", "Bearer"} {
				require.NotContains(t, file, content)
			}
			require.Contains(t, file, `"uid":"uid-a"`)
		})
	}
}

// TestBodiesAreWrittenWhenAskedFor is the opposite, except for Secrets.
func TestBodiesAreWrittenWhenAskedFor(t *testing.T) {
	r := New("pods", Options{Bodies: true, Labels: true})
	askAll(t, r, "pods")
	_, _, file := written(t, r)
	require.Contains(t, file, secret)
	require.Contains(t, file, `"app":"web"`)

	r = New("secrets", Options{Bodies: true})
	askAll(t, r, "secrets")
	_, _, file = written(t, r)
	require.NotContains(t, file, secret)
	require.Contains(t, file, `"unknown@10"`)
}

// TestDigestsCannotBeGuessed proves that digests differ between recorders, and are equal
// for equal contents within one.
func TestDigestsCannotBeGuessed(t *testing.T) {
	var values [2]string
	for i := range values {
		r := New("pods", Options{})
		askAll(t, r, "pods")
		h, _, _ := written(t, r)
		get, list := &h.Operations[1], &h.Operations[3]
		require.Equal(t, [2]model.Kind{model.Get, model.List}, [2]model.Kind{get.Kind, list.Kind})
		values[i] = get.Objects[0].Value
		require.Equal(t, strings.TrimSuffix(values[i], "@10"), strings.TrimSuffix(list.Objects[0].Value, "@12"), "the same content")
	}
	require.NotEqual(t, values[0], values[1])
}

func TestRequestsAreUnderstood(t *testing.T) {
	r := New("pods", Options{})
	askAll(t, r, "pods")
	h, _, _ := written(t, r)
	var got []string
	for _, op := range h.Operations {
		got = append(got, fmt.Sprintf("%s %s rv %d, %d->%d %s", op.Kind, op.Scope.Name, op.RV, op.Precondition, op.ResultRV, op.Err))
		require.LessOrEqual(t, op.Call, op.Return)
	}
	require.Equal(t, []string{"create a rv 0, 0->10 ", "get a rv -1, 0->10 ", "update a rv 0, 10->12 ", "list  rv 0, 0->15 "}, got)
	s := h.Streams[0]
	require.EqualValues(t, 15, s.RV)
	require.True(t, s.Bookmarks)
	require.NotEqual(t, model.Pending, s.Closed)
	require.Equal(t, h.Truth.Changes[len(h.Truth.Changes)-1], model.Change{RV: 22, Deleted: true, Object: *s.Events[2].Object})
}

// TestEachRequestIsTold includes requests that are omitted.
func TestEachRequestIsTold(t *testing.T) {
	var all []*importer.Told
	r := New("pods", Options{Tell: func(told *importer.Told) {
		require.EqualValues(t, []any{model.Pending, 0}, []any{told.Return, told.Code}, "it is told of when it is sent")
		all = append(all, told)
	}})
	askAll(t, r, "pods")
	var lines []string
	for _, told := range all {
		require.GreaterOrEqual(t, told.Return, told.Call)
		lines = append(lines, fmt.Sprintf("%s %d %d->%d %t: %s", told.AuditID, told.Code, told.RV, told.Op.ResultRV, told.Watch, told.Omitted))
	}
	require.Equal(t, []string{
		"POST 201 -1->10 false: ", "GET 200 -1->10 false: ", "PUT 200 -1->12 false: ", "POST fail=1 409 -1->0 false: ",
		"GET resourceVersion=0 200 0->15 false: ", "GET labelSelector=app+in+(a) 200 -1->0 false: " + importer.OmittedSelectors,
		"GET watch=1&resourceVersion=15&allowWatchBookmarks=true 200 15->0 true: ", "DELETE 200 -1->0 false: ",
	}, lines)
}

// TestAWatchThatIsNotRecordedIsNotKept matters because its body has no end.
func TestAWatchThatIsNotRecordedIsNotKept(t *testing.T) {
	response := send(t, New("pods", Options{}), answers(t), http.MethodGet, "/api/v1/pods?watch=1&labelSelector=app!%3Da", "", "")
	_, err := io.ReadFull(response.Body, make([]byte, 100))
	require.NoError(t, err)
	require.Empty(t, response.Body.(*answer).body)
	require.NoError(t, response.Body.Close())
}

// Histories of several resources can be compared if they share a clock.
func TestAClockIsThatOfTheHistory(t *testing.T) {
	now := int64(1000)
	r := New("pods", Options{Clock: func() int64 { now++; return now }})
	ask(t, r, answers(t), http.MethodGet, "/api/v1/namespaces/default/pods", "")
	header, h, _, err := r.History()
	require.NoError(t, err)
	require.EqualValues(t, 1001, h.Operations[0].Call)
	require.EqualValues(t, 1002, h.End)
	require.Empty(t, header.Attributes[traces.AttributeBegan])
}

// TestAServerIsNamedAfterItsAnswer has a load balancer, behind which the server is not known earlier.
func TestAServerIsNamedAfterItsAnswer(t *testing.T) {
	reached := "a"
	r := New("pods", Options{Server: func(*http.Request) string { return reached }})
	for _, reached = range []string{"b", "c"} {
		ask(t, r, answers(t), http.MethodGet, "/api/v1/namespaces/default/pods", "")
	}
	_, h, _, err := r.History()
	require.NoError(t, err)
	require.Equal(t, "b", h.Operations[0].Server)
	require.Equal(t, "c", h.Operations[1].Server)
}

// TestWhatCannotBeRecordedPasses has responses that no API server sends.
func TestWhatCannotBeRecordedPasses(t *testing.T) {
	for name, row := range map[string]struct{ path, media, body, note string }{
		"YAML list":        {"/api/v1/pods", "application/yaml", "kind: PodList", omittedEncoding},
		"YAML watch":       {"/api/v1/pods?watch=1", "application/yaml", "type: ADDED", omittedEncoding},
		"protobuf list":    {"/api/v1/pods", "application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff", omittedOddities},
		"protobuf watch":   {"/api/v1/pods?watch=1", "application/vnd.kubernetes.protobuf;stream=watch", "\x00\x00\x00\x05hello", "watches, after something"},
		"a long frame":     {"/api/v1/pods?watch=1", "application/vnd.kubernetes.protobuf;stream=watch", "\xff\xff\xff\xffhello", "watches, after something"},
		"CBOR list":        {"/api/v1/pods", "application/cbor", "\xff", omittedOddities},
		"CBOR watch":       {"/api/v1/pods?watch=1", "application/cbor-seq", "\xd9\xd9\xf7\xff", "watches, after something"},
		"broken list":      {"/api/v1/pods", "application/json", `{"kind":"PodList","items":[`, omittedOddities},
		"no list":          {"/api/v1/pods", "application/json", "<html>", omittedOddities},
		"broken watch":     {"/api/v1/pods?watch=1", "application/json", `{"type":"ADDED"}{]`, "watches, after something"},
		"endless nesting":  {"/api/v1/pods?watch=1", "application/json", strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000), "watches, after something"},
		"a strange number": {"/api/v1/pods?resourceVersion=first", "application/json", "{}", omittedOddities},
	} {
		t.Run(name, func(t *testing.T) {
			r := New("pods", Options{})
			require.Equal(t, row.body, ask(t, r, serve(t, row.media, 200, []byte(row.body)), http.MethodGet, row.path, ""), "it passes as it is")
			_, notes, _ := written(t, r)
			require.Len(t, notes, 1)
			require.Contains(t, notes[0], row.note)
		})
	}
}

// state is what etcd committed of an object at a key.
func state(rv int64, key, value string, deleted bool) model.Change {
	return model.Change{RV: rv, Deleted: deleted, Object: model.Object{Name: "/registry/" + key, RV: rv, Value: value}}
}

// What a write may have done counts for others: one that failed or whose response cannot be read may
// have taken effect, and when the definition of a custom resource is deleted, API servers delete all
// objects, among them one of which they have told a client that it is gone.
func TestWritesThatMayHaveTakenEffectAreKnownOf(t *testing.T) {
	const (
		pods, customs, definitions = "pods/default/a", "example.com/customs/default/a", "apiextensions.k8s.io/customresourcedefinitions/"
		lost, others               = "1 writes whose outcome is unknown", "1 refused deletes of objects that another write may have deleted"
	)
	type reply struct {
		code        int
		media, body string
	}
	status := func(code int) reply {
		return reply{code, "application/json", fmt.Sprintf(`{"kind":"Status","status":"Failure","code":%d}`, code)}
	}
	gone := reply{404, "application/json", `{"kind":"Status","status":"Failure","reason":"NotFound","details":{"name":"a","kind":"pods"},"code":404}`}
	deleted := []model.Change{state(4, pods, "", false), state(5, pods, "", true)}
	defined := func(definition string, over bool) []model.Change {
		definition = definitions + definition
		return []model.Change{
			state(4, definition, "", false), state(5, customs, "", false), state(6, customs, "", true), state(7, definition, "", over),
		}
	}
	for name, row := range map[string]struct {
		world   []model.Change
		method  string
		replies []reply
		told    []model.Code
		kept    int
		notes   []string
	}{
		"a delete whose response is YAML": {deleted, http.MethodDelete, []reply{{200, "application/yaml", "kind: Status"}, gone},
			[]model.Code{model.Unknown, model.NotFound}, 0, []string{others, "1 " + omittedEncoding, lost}},
		"a delete whose response breaks off": {deleted, http.MethodDelete, []reply{{200, "application/json", `{"kind":"Sta`}, gone},
			[]model.Code{model.Unknown, model.NotFound}, 0, []string{others, "1 " + omittedOddities, lost}},
		"a create that fails, whose name only the request has": {deleted[:1], http.MethodPost, []reply{status(500)}, []model.Code{model.Unknown}, 0, []string{lost}},
		"a delete that fails after one that was rejected": {deleted, http.MethodDelete, []reply{status(429), status(500)},
			[]model.Code{model.TooMany, model.Unknown}, 0, []string{others, lost}},
		"a delete that fails after one with a conflict": {deleted, http.MethodDelete, []reply{status(409), status(500)},
			[]model.Code{model.Conflict, model.Unknown}, 0, []string{others, lost}},
		"the definition is deleted": {defined("customs.example.com", true), http.MethodDelete, []reply{status(404)}, []model.Code{model.Unavailable}, 0,
			[]string{"1 deletions by an API server, with the definition of the resource", others}},
		"the definition stays":          {defined("customs.example.com", false), http.MethodDelete, []reply{status(404)}, []model.Code{model.Unavailable}, 1, nil},
		"another definition is deleted": {defined("others.example.com", true), http.MethodDelete, []reply{status(404)}, []model.Code{model.Unavailable}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			replies := row.replies
			server := handle(t, "", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", replies[0].media)
				w.WriteHeader(replies[0].code)
				io.WriteString(w, replies[0].body)
				replies = replies[1:]
			})
			resource, path := "pods", "/api/v1/namespaces/default/pods"
			if len(row.world) == 4 {
				resource, path = "customs.example.com", "/apis/example.com/v1/namespaces/default/customs"
			}
			body := ""
			if row.method == http.MethodPost {
				body = `{"metadata":{"name":"a"}}`
			} else {
				path += "/a"
			}
			var told []*importer.Told
			r := New(resource, Options{Tell: func(one *importer.Told) { told = append(told, one) }})
			r.World(model.Truth{Revision: 8, Changes: row.world}, nil)
			for range row.replies {
				ask(t, r, server, row.method, path, body)
			}
			h, notes, _ := written(t, r)
			require.Len(t, h.Operations, row.kept)
			require.ElementsMatch(t, row.notes, notes)
			for i, one := range told {
				require.Equal(t, row.told[i], one.Op.Err)
			}
		})
	}
}

// Responses to metadata clients are in protobuf, with the UID of the deleted object, or with that object, or, for an update
// that removes the last finalizer, with the state that it would have.
func TestADeletionIsThatOfTheObjectThatItsAnswerNames(t *testing.T) {
	about := metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "first", ResourceVersion: "6"}
	now := metav1.Now()
	let := metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "first", ResourceVersion: "5", DeletionTimestamp: &now, DeletionGracePeriodSeconds: ptr.To[int64](0)}
	for name, answer := range map[string]runtime.Object{
		"an update": &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: let},
		"a status":  &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "a", UID: "first"}},
		"an object": &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: about},
	} {
		t.Run(name, func(t *testing.T) {
			body := encoded(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), answer)
			r := New("pods", Options{})
			var changes []model.Change
			for i, uid := range []string{"first", "first", "second", "second"} {
				changes = append(changes, state(int64(5+i), "pods/default/a", `{"kind":"Pod","metadata":{"namespace":"default","name":"a","uid":"`+uid+`"}}`, i%2 == 1))
			}
			r.World(model.Truth{Revision: 8, Changes: changes}, nil)
			verb := http.MethodDelete
			if name == "an update" {
				verb = http.MethodPatch
			}
			ask(t, r, serve(t, "application/vnd.kubernetes.protobuf", 200, body), verb, "/api/v1/namespaces/default/pods/a", "")
			h, notes, _ := written(t, r)
			require.Len(t, h.Operations, 1, notes)
			require.Equal(t, model.Delete, h.Operations[0].Kind)
			require.EqualValues(t, 6, h.Operations[0].ResultRV)
			require.Empty(t, h.Operations[0].Objects)
		})
	}
}

// A create whose name the server generates is refused: only the body has the prefix.
func TestThePrefixOfARefusedName(t *testing.T) {
	server := handle(t, "application/json", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","status":"Failure","code":403}`)
	})
	var told []string
	r := New("pods", Options{Tell: func(request *importer.Told) { told = append(told, request.GenerateName+" "+request.Scope.Name) }})
	ask(t, r, server, http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"generateName":"a-"}}`)
	ask(t, r, server, http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"generateName":"a-","name":"b"}}`)
	require.Equal(t, []string{"a- ", " b"}, told)
}

// A write without a response, such as the last one of a client that has crashed, may have taken effect.
func TestAWriteWithoutAnAnswerIsKnownOf(t *testing.T) {
	r := New("pods", Options{})
	notes := func() string {
		_, notes, _ := written(t, r)
		return strings.Join(notes, "\n")
	}
	const unknown = "writes whose outcome is unknown"
	server := handle(t, "application/json", func(w http.ResponseWriter, _ *http.Request) {
		require.Contains(t, notes(), unknown)
		io.WriteString(w, pod("Pod", "a", 4))
	})
	r.World(model.Truth{Changes: []model.Change{state(4, "pods/default/a", "", false), state(5, "pods/default/a", "", true)}}, nil)
	ask(t, r, server, http.MethodDelete, "/api/v1/namespaces/default/pods/a", "")
	require.NotContains(t, notes(), unknown)
}

// TestAWatchPassesAtOnce proves that an event reaches the client, and the history, while
// the stream is open.
func TestAWatchPassesAtOnce(t *testing.T) {
	more := make(chan struct{})
	server := handle(t, "application/json", func(w http.ResponseWriter, r *http.Request) {
		event := fmt.Sprintf(`{"type":"ADDED","object":%s}`, pod("Pod", "a", 5))
		io.WriteString(w, event[:50])
		w.(http.Flusher).Flush()
		<-more
		io.WriteString(w, event[50:])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	r := New("pods", Options{})
	response := send(t, r, server, http.MethodGet, "/api/v1/pods?watch=1", "", "")
	timeout := time.AfterFunc(time.Minute, func() { response.Body.Close() })
	defer timeout.Stop()
	first := make([]byte, 50)
	_, err := io.ReadFull(response.Body, first)
	require.NoError(t, err)
	h, _, _ := written(t, r)
	require.Empty(t, h.Streams[0].Events)
	require.Equal(t, model.Pending, h.Streams[0].Closed)
	close(more)
	for len(h.Streams[0].Events) == 0 {
		_, err = response.Body.Read(first)
		require.NoError(t, err)
		h, _, _ = written(t, r)
	}
	response.Body.Close()
	h, _, _ = written(t, r)
	require.Equal(t, model.ClosedByClient, h.Streams[0].Reason)
}
