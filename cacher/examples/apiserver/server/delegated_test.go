package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// TestDelegated shows that a server that is not stand-alone accepts only users that the
// kube-apiserver knows, and only what it allows them to do.
func TestDelegated(t *testing.T) {
	kubeconfig := kubeAPIServer(t)
	options := NewOptions()
	options.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{startEtcd(t).Endpoint()}
	options.Recommended.SecureServing.BindAddress = []byte{127, 0, 0, 1}
	options.Recommended.SecureServing.BindPort = 0
	options.Recommended.CoreAPI.CoreAPIKubeconfigPath = kubeconfig
	options.Recommended.Authorization.RemoteKubeConfigFile = kubeconfig
	options.Recommended.Authentication.RemoteKubeConfigFile = kubeconfig
	options.Recommended.Authentication.SkipInClusterLookup = true
	address, _ := launch(t, options)

	ask := func(token, verb string) error {
		client, err := rest.RESTClientFor(&rest.Config{
			Host: "https://" + address, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, APIPath: "/apis",
			ContentConfig: rest.ContentConfig{GroupVersion: &v1.GroupVersion, NegotiatedSerializer: codecs.WithoutConversion()},
		})
		require.NoError(t, err)
		return client.Verb(verb).Namespace("n").Resource("widgets").Do(t.Context()).Error()
	}
	require.True(t, apierrors.IsForbidden(ask("", "GET")), "without a token")
	require.True(t, apierrors.IsUnauthorized(ask("another-token", "GET")))
	require.NoError(t, ask("reader-token", "GET"))
	require.True(t, apierrors.IsForbidden(ask("reader-token", "DELETE")))
}

// kubeAPIServer runs the parts of a kube-apiserver that servers delegate to: it knows one token,
// whose owner may list. It returns a kubeconfig.
func kubeAPIServer(t *testing.T) (kubeconfig string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, request *http.Request) {
		answer(w, request, &authenticationv1.TokenReview{}, func(review *authenticationv1.TokenReview) {
			if review.Spec.Token == "reader-token" {
				review.Status.Authenticated = true
				review.Status.User.Username = "reader"
			}
		})
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, request *http.Request) {
		answer(w, request, &authorizationv1.SubjectAccessReview{}, func(review *authorizationv1.SubjectAccessReview) {
			review.Status.Allowed = review.Spec.User == "reader" && review.Spec.ResourceAttributes.Verb == "list"
		})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	config := clientcmdapi.NewConfig()
	config.Clusters["kubernetes"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["kubernetes"] = &clientcmdapi.Context{Cluster: "kubernetes"}
	config.CurrentContext = "kubernetes"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

// answer reads a review from a request, fills in its status and sends it back.
func answer[T any](w http.ResponseWriter, request *http.Request, review T, decide func(T)) {
	if err := json.NewDecoder(request.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	decide(review)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(review)
}
