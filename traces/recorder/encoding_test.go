package recorder

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubecbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// writing is how Kubernetes writes objects, and the events of watches, in one encoding.
type writing struct {
	media, streamed string
	objects         runtime.Encoder
	events          runtime.Encoder // of watch events; those of protobuf have no envelope
	framer          runtime.Framer
}

func writings() map[string]writing {
	plain, binary := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{}), kubecbor.NewSerializer(scheme.Scheme, scheme.Scheme)
	return map[string]writing{
		"JSON":     {"application/json", "application/json;stream=watch", plain, plain, json.Framer},
		"protobuf": {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch", protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme), protobuf.LengthDelimitedFramer},
		"CBOR":     {"application/cbor", "application/cbor-seq", binary, binary, kubecbor.NewFramer()},
	}
}

// encoded returns an encoded object.
func encoded(t require.TestingT, encoder runtime.Encoder, object runtime.Object) []byte {
	body, err := runtime.Encode(encoder, object)
	require.NoError(t, err)
	return body
}

// watch returns the body of a watch.
func (w writing) watch(t *testing.T, events ...metav1.WatchEvent) []byte {
	var body bytes.Buffer
	encoder := streaming.NewEncoder(w.framer.NewFrameWriter(&body), w.events)
	for _, event := range events {
		event.Object = runtime.RawExtension{Raw: encoded(t, w.objects, event.Object.Object)}
		require.NoError(t, encoder.Encode(&event))
	}
	return body.Bytes()
}

// serve returns a server that returns the same body for every request.
func serve(t *testing.T, media string, code int, body []byte) *httptest.Server {
	return handle(t, media, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		w.Write(body)
	})
}

// about returns the metadata of an object at a resourceVersion.
func about(name string, rv int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: "u1", ResourceVersion: fmt.Sprint(rv), CreationTimestamp: metav1.Unix(1_700_000_000, 0),
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"b": "", "a": "ü"}, Finalizers: []string{"example.com/held"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "n1", UID: "u2", Controller: new(true)}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "me", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
	}
}

// samples are objects with fields of all kinds, by resource.
func samples(rv int) map[string]runtime.Object {
	now := metav1.Unix(1_700_000_001, 0)
	return map[string]runtime.Object{
		"/api/v1/namespaces/default/pods": &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: about("a", rv),
			Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{
				Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": quantity.MustParse("1500m")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("web")}}},
			}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now},
		},
		"/api/v1/namespaces/default/configmaps": &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: about("a", rv),
			Data: map[string]string{"<&>": "\u2028"}, BinaryData: map[string][]byte{"raw": {0, 255, 'k', '8'}},
		},
		"/apis/apps/v1/namespaces/default/controllerrevisions": &appsv1.ControllerRevision{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"}, ObjectMeta: about("a", rv),
			Data: runtime.RawExtension{Raw: []byte(`{"z":1,"a":{"b":[1.5,null]}}`)}, Revision: 3,
		},
		"/apis/apps/v1/namespaces/default/statefulsets": &appsv1.StatefulSet{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: about("a", rv),
			Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "data"},
			}}},
		},
		"/apis/batch/v1/namespaces/default/jobs": &batchv1.Job{
			TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: about("a", rv),
			Spec: batchv1.JobSpec{Parallelism: new(int32(0)), Suspend: new(false)}, Status: batchv1.JobStatus{CompletionTime: &now},
		},
	}
}

// history returns what has been recorded.
func history(t *testing.T, r *Recorder) *model.History {
	t.Helper()
	_, h, notes, err := r.History()
	require.NoError(t, err)
	require.Empty(t, notes)
	return h
}

// resourceIn returns the resource of a path, as for a recorder.
func resourceIn(path string) string {
	words := strings.Split(strings.Trim(path, "/"), "/")
	if words[0] == "apis" {
		return words[len(words)-1] + "." + words[1]
	}
	return words[len(words)-1]
}

// TestEveryEncodingReadsTheSame serves a get, a list, a create and a watch in each encoding: the recorded object is the same.
func TestEveryEncodingReadsTheSame(t *testing.T) {
	for path, object := range samples(10) {
		want := map[string]model.Object{}
		for name, w := range writings() {
			t.Run(path[strings.LastIndexByte(path, '/')+1:]+" in "+name, func(t *testing.T) {
				body := encoded(t, w.objects, object)
				text, err := encodings[w.media].asJSON(body, nil)
				require.NoError(t, err)
				require.Contains(t, string(text), `"kind":"`+object.GetObjectKind().GroupVersionKind().Kind+`"`)
				r := New(resourceIn(path), Options{Bodies: true, Labels: true})
				ask(t, r, serve(t, w.media, 200, body), http.MethodGet, path+"/a", "")
				ask(t, r, serve(t, w.media, 201, body), http.MethodPost, path, "")
				later := samples(11)[path]
				ask(t, r, serve(t, w.streamed, 200, w.watch(t,
					metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Object: object}},
					metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Object: later}},
					metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Object: &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 410}}},
				)), http.MethodGet, path+"?watch=1", "")
				h := history(t, r)
				require.Len(t, h.Operations, 2)
				require.Equal(t, model.Create, h.Operations[1].Kind)
				seen := h.Operations[0].Objects[0]
				require.NotContains(t, seen.Value, "unknown")
				require.Equal(t, seen, h.Operations[1].Objects[0])
				events := h.Streams[0].Events
				require.Len(t, events, 3)
				require.Equal(t, seen, *events[0].Object)
				require.EqualValues(t, 11, events[1].RV)
				require.Equal(t, model.Expired, events[2].Err)
				want[name] = seen
			})
		}
		require.Len(t, want, 3)
		require.Equal(t, want["JSON"], want["protobuf"])
		require.Equal(t, want["JSON"], want["CBOR"])
	}
}

// TestEventsInTwoPieces cuts a stream at every byte.
func TestEventsInTwoPieces(t *testing.T) {
	event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Object: &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: about("a", 10)}}}
	for name, w := range writings() {
		body := w.watch(t, event, event)
		for cut := range len(body) {
			splitter, found := encodings[strings.TrimSuffix(w.streamed, ";stream=watch")].events(), [][]byte(nil)
			for _, piece := range [][]byte{body[:cut], body[cut:]} {
				for len(piece) > 0 {
					taken, value, err := splitter.Take(piece)
					require.NoError(t, err, "%s, cut at %d", name, cut)
					if piece = piece[taken:]; value != nil {
						found = append(found, bytes.Clone(value))
					}
				}
			}
			require.Len(t, found, 2, "%s, cut at %d", name, cut)
			require.Equal(t, found[0], found[1], "%s, cut at %d", name, cut)
		}
	}
}

func TestListsInEveryEncoding(t *testing.T) {
	remaining := int64(7)
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "12", Continue: "more", RemainingItemCount: &remaining},
		Items: []corev1.Pod{{ObjectMeta: about("a", 10), Spec: corev1.PodSpec{NodeName: "n1"}}, {ObjectMeta: about("b", 11)}},
	}
	want := map[string]model.Operation{}
	for name, w := range writings() {
		r := New("pods", Options{Bodies: true})
		ask(t, r, serve(t, w.media, 200, encoded(t, w.objects, list)), http.MethodGet, "/api/v1/pods?limit=2", "")
		op := history(t, r).Operations[0]
		require.Len(t, op.Objects, 2, name)
		require.Equal(t, []any{int64(12), true, "n1"}, []any{op.ResultRV, op.HasMore, op.Objects[0].Node}, name)
		op.Call, op.Return = 0, 0
		want[name] = op
	}
	require.Equal(t, want["JSON"], want["protobuf"])
	require.Equal(t, want["JSON"], want["CBOR"])
}

// If client-go has no type for an object, or an older one, only the metadata is read, and the content is not compared with JSON.
func TestProtobufOfOtherTypes(t *testing.T) {
	kinds := schema.GroupVersion{Group: "example.com", Version: "v1"}
	others := runtime.NewScheme()
	others.AddKnownTypeWithName(kinds.WithKind("Gadget"), &corev1.Pod{})
	others.AddKnownTypeWithName(kinds.WithKind("GadgetList"), &corev1.PodList{})
	object := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Gadget"}, ObjectMeta: about("a", 10), Spec: corev1.PodSpec{NodeName: "n1"}}
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "GadgetList"}, ListMeta: metav1.ListMeta{ResourceVersion: "12"}, Items: []corev1.Pod{*object}}
	newer := encoded(t, protobuf.NewSerializer(nil, nil), &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: about("a", 10)})
	var envelope runtime.Unknown
	require.NoError(t, envelope.Unmarshal(newer[len(protobufMagic):]))
	envelope.Raw = append(envelope.Raw, 0xfa, 0x3f, 1, 'x') // field 1023, of bytes
	whole, err := envelope.Marshal()
	require.NoError(t, err)
	newer = append(bytes.Clone(protobufMagic), whole...)
	serializer := protobuf.NewSerializer(others, others)
	for name, row := range map[string]struct {
		resource, path string
		body           []byte
	}{
		"an object": {"gadgets.example.com", "/apis/example.com/v1/namespaces/default/gadgets/a", encoded(t, serializer, object)},
		"a list":    {"gadgets.example.com", "/apis/example.com/v1/gadgets", encoded(t, serializer, list)},
		"a newer":   {"pods", "/api/v1/namespaces/default/pods/a", newer},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(row.resource, Options{Bodies: true, Labels: true})
			ask(t, r, serve(t, "application/vnd.kubernetes.protobuf", 200, row.body), http.MethodGet, row.path, "")
			seen := history(t, r).Operations[0].Objects[0]
			require.Equal(t, model.Object{Namespace: "default", Name: "a", UID: "u1", RV: 10, Labels: map[string]string{"app": "web"}, Value: "unknown@10"}, seen)
		})
	}
}

// A value in etcd is read the same in CBOR and in JSON. That of a built-in type has no digest, as it may lack defaults.
func TestStoredInCBOR(t *testing.T) {
	for path, object := range samples(10) {
		want, body := encoded(t, writings()["JSON"].objects, object), encoded(t, writings()["CBOR"].objects, object)
		reducer := importer.Reducer{Family: "json", Whole: true}
		seen, readable := reducer.Stored(body)
		require.True(t, readable, path)
		plain, err := reducer.Object(want)
		require.NoError(t, err)
		require.NotEmpty(t, plain.Value)
		plain.Value = ""
		require.Equal(t, plain, seen, path)
		_, readable = reducer.Stored(body[:len(body)/2])
		require.False(t, readable, path)
	}
	for version, custom := range map[string]bool{"example.com/v1": true, "jobset.x-k8s.io/v1": true, "v1": false, "apps/v1": false, "storage.k8s.io/v1": false} {
		seen, _ := importer.Reducer{}.Stored([]byte(`{"apiVersion":"` + version + `","metadata":{"name":"a"}}`))
		require.Equal(t, custom, seen.Value != "", version)
	}
}

// The resourceVersion in an update is its precondition.
func TestWhatIsSentInEveryEncoding(t *testing.T) {
	for name, w := range writings() {
		body := encoded(t, w.objects, samples(9)["/api/v1/namespaces/default/pods"])
		answer := encoded(t, w.objects, samples(10)["/api/v1/namespaces/default/pods"])
		r := New("pods", Options{})
		_, err := io.Copy(io.Discard, send(t, r, serve(t, w.media, 200, answer), http.MethodPut, "/api/v1/namespaces/default/pods/a", string(body), w.media).Body)
		require.NoError(t, err)
		require.EqualValues(t, 9, history(t, r).Operations[0].Precondition, name)
	}
}

// Metadata clients receive statuses in protobuf, whatever else they accept.
func TestStatusesInEveryEncoding(t *testing.T) {
	failure := func(media string, code int, body []byte) model.Code {
		var told *importer.Told
		r := New("pods", Options{Tell: func(one *importer.Told) { told = one }})
		ask(t, r, serve(t, media, code, body), http.MethodGet, "/api/v1/namespaces/default/pods/a", "")
		return told.Err
	}
	require.Equal(t, model.Unavailable, failure("text/plain", 404, []byte("404 page not found")), "a server that does not serve the resource yet")
	pods := schema.GroupResource{Resource: "pods"}
	tooLarge := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 504, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}}}
	for name, w := range writings() {
		for _, row := range []struct {
			failure *apierrors.StatusError
			want    model.Code
		}{
			{apierrors.NewNotFound(pods, "a"), model.NotFound},
			{apierrors.NewGenericServerResponse(404, "get", pods, "", "", 0, true), model.Unavailable},
			{apierrors.NewAlreadyExists(pods, "a"), model.AlreadyExists},
			{apierrors.NewConflict(pods, "a", nil), model.Conflict},
			{tooLarge, model.TooLarge},
		} {
			status := row.failure.ErrStatus
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			require.Equal(t, row.want, failure(w.media, int(status.Code), encoded(t, w.objects, &status)), "%s: %v", name, row.failure)
		}
	}
}

// FuzzTranslation feeds every encoding with arbitrary input: it must not panic, and any result is a JSON object.
func FuzzTranslation(f *testing.F) {
	for _, w := range writings() {
		for _, object := range samples(10) {
			f.Add(encoded(f, w.objects, object))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for media, one := range encodings {
			text, err := one.asJSON(body, nil)
			require.True(t, err != nil || media == "application/json" || stdjson.Valid(text))
			_, text, err = one.event(body, nil)
			require.True(t, err != nil || stdjson.Valid(text))
			splitter, rest := one.events(), body
			for len(rest) > 0 {
				taken, _, err := splitter.Take(rest)
				if err != nil {
					break
				}
				require.Positive(t, taken)
				rest = rest[taken:]
			}
		}
	})
}
