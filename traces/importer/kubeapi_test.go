package importer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

func TestPathsAndQueries(t *testing.T) {
	for uri, want := range map[string]Request{
		"/api/v1/pods": {Resource: "pods", RV: -1},
		"/api/v1/namespaces/blue/pods/web-0?resourceVersion=0": {Resource: "pods", Scope: model.Scope{Namespace: "blue", Name: "web-0"}},
		"/api/v1/namespaces/blue/pods/web-0/status?dryRun=All": {Resource: "pods", Subresource: "status", Scope: model.Scope{Namespace: "blue", Name: "web-0"}, RV: -1, DryRun: true},
		"/api/v1/namespaces":                                     {Resource: "namespaces", RV: -1},
		"/api/v1/namespaces/blue":                                {Resource: "namespaces", Scope: model.Scope{Name: "blue"}, RV: -1},
		"/api/v1/namespaces/blue/finalize":                       {Resource: "namespaces", Subresource: "finalize", Scope: model.Scope{Name: "blue"}, RV: -1},
		"/apis/apps/v1/deployments?limit=500&resourceVersion=12": {Resource: "deployments.apps", RV: 12, Limit: 500},
		"/apis/apps/v1/deployments?resourceVersionMatch=Exact&resourceVersion=12&continue=abc":     {Resource: "deployments.apps", RV: 12, Match: model.MatchExact, Continue: "abc"},
		"/api/v1/pods?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&timeoutSeconds=2": {Resource: "pods", RV: -1, Watch: true, Bookmarks: true, InitialEvents: true, Timeout: 2e9},
		"/api/v1/watch/namespaces/blue/pods":                                                       {Resource: "pods", Scope: model.Scope{Namespace: "blue"}, RV: -1, Watch: true},
		"/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,metadata.name%3Dx&labelSelector=app%3Dweb,tier%3D%3Dfront": {Resource: "pods", RV: -1, Scope: model.Scope{Name: "x"}, NameSelected: true,
			Selector: model.Selector{Node: "n1", Labels: map[string]string{"app": "web", "tier": "front"}}},
	} {
		got, is, err := parseURI(uri)
		require.NoError(t, err, uri)
		require.True(t, is, uri)
		require.Equal(t, want, got, uri)
	}
	for _, uri := range []string{"/healthz", "/api", "/api/v1", "/apis/apps/v1", "/openapi/v3/apis/apps/v1", "/"} {
		_, is, err := parseURI(uri)
		require.NoError(t, err)
		require.False(t, is, uri)
	}
	for _, query := range []string{"labelSelector=a", "labelSelector=!a", "labelSelector=a!%3Db", "labelSelector=a+in+(b,c)", "labelSelector=a%3Db,a%3Dc",
		"fieldSelector=status.phase%3DRunning", "fieldSelector=spec.nodeName!%3Dn1", "fieldSelector=spec.nodeName%3D"} {
		_, _, err := parseURI("/api/v1/pods?" + query)
		require.ErrorIs(t, err, ErrUnsupported, query)
	}
	for _, query := range []string{"resourceVersion=x", "resourceVersion=-1", "resourceVersion=9223372036854775808", "limit=-1", "limit=x", "timeoutSeconds=x", "resourceVersionMatch=Newest"} {
		_, _, err := parseURI("/api/v1/pods?" + query)
		require.ErrorContains(t, err, "expected ", query)
		require.NotErrorIs(t, err, ErrUnsupported)
	}
}

const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"blue","name":"a","uid":"u","resourceVersion":"7","labels":{"app":"web"}},"spec":{"nodeName":"n1","x":[{"y":1}]},"status":{}}`

// TestDigests requires equal digests for the responses of two servers for one object, and
// different ones otherwise.
func TestDigests(t *testing.T) {
	first, err := plain.Object([]byte(pod))
	require.NoError(t, err)
	require.Equal(t, model.Object{Namespace: "blue", Name: "a", UID: "u", RV: 7, Labels: map[string]string{"app": "web"}, Node: "n1", Value: first.Value}, first)
	require.Regexp(t, `^json:[0-9a-f]{16}$`, first.Value)
	digest := func(replace ...string) string {
		object, err := plain.Object([]byte(strings.NewReplacer(replace...).Replace(pod)))
		require.NoError(t, err)
		return object.Value
	}
	for _, same := range [][]string{
		{`"7"`, `"8"`}, {`"kind":"Pod",`, ``}, {`"apiVersion":"v1"`, `"apiVersion":"v2"`}, {`,"status":{}`, ``}, {`"status":{}`, `"status":null`},
		{`"uid":"u"`, `"uid":"u","managedFields":[{"manager":"m"}],"creationTimestamp":null`}, {`"uid":"u","resourceVersion":"7"`, `"resourceVersion":"7",  "uid":"u"`},
	} {
		require.Equal(t, first.Value, digest(same...), "%v", same)
	}
	for _, other := range [][]string{{`"y":1`, `"y":2`}, {`"web"`, `"api"`}, {`"uid":"u"`, `"uid":"v"`}, {`"status":{}`, `"status":{"phase":""}`}} {
		require.NotEqual(t, first.Value, digest(other...), "%v", other)
	}
	require.Empty(t, digest(`"Pod"`, `"Secret"`), "of a Secret, nothing is looked at")
	require.Empty(t, digest(`"Pod"`, `"PartialObjectMetadata"`))
	keyed, err := Reducer{Family: "r", Key: []byte("k")}.Object([]byte(pod))
	require.NoError(t, err)
	require.NotEqual(t, strings.TrimPrefix(first.Value, "json:"), strings.TrimPrefix(keyed.Value, "r:"))
}

func TestFailures(t *testing.T) {
	for _, row := range []struct {
		code int
		body string
		want model.Code
	}{
		{200, "", model.OK}, {201, "{}", model.OK}, {404, "", model.NotFound}, {404, `{"details":{"name":"a"}}`, model.NotFound}, {404, "404 page not found", model.Unavailable}, {409, "", model.Conflict}, {409, `{"reason":"AlreadyExists"}`, model.AlreadyExists},
		{410, "", model.Expired}, {422, "", model.Invalid}, {429, "", model.TooMany}, {403, "", model.Unavailable}, {500, "", model.Unknown}, {503, "", model.Unknown},
		{504, `{"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`, model.TooLarge}, {0, `{"code":410}`, model.Expired}, {0, "[", model.Unknown},
	} {
		require.Equal(t, row.want, FailureOf(row.code, []byte(row.body)), "%+v", row)
	}
}

// FuzzReducer reads arbitrary input: it returns an error in one line, or reduces.
func FuzzReducer(f *testing.F) {
	f.Add([]byte(pod), "/api/v1/pods?resourceVersion=5&labelSelector=a%3Db")
	f.Add([]byte(`{"type":"ADDED","object":`+pod+`}`), "/apis/a.b/v1/namespaces/x/y/z?watch=1")
	f.Add([]byte(`{"kind":"PodList","metadata":{"resourceVersion":"5","remainingItemCount":3},"items":[`+pod+`]}`), "/api")
	f.Add([]byte("k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x08\x0a\x06\x0a\x01a\x1a\x01b"), "x")
	f.Fuzz(func(t *testing.T, text []byte, uri string) {
		_, _, noURI := parseURI(uri)
		_, noObject := plain.Object(text)
		_, noList := plain.List(text)
		_, _, noEvent := plain.Event(text)
		for _, err := range []error{noURI, noObject, noList, noEvent} {
			if err != nil {
				require.NotContains(t, err.Error(), "\n")
				require.NotContains(t, err.Error(), "Go ")
			}
		}
		if object, ok := plain.Stored(text); ok {
			require.NotEmpty(t, object.Name)
		}
		FailureOf(0, text)
	})
}
