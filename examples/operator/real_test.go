package main

import (
	"context"
	"net"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/server/v3/embed"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
)

// realTime is the environment variable that says how long TestOnTheRealClock lasts.
const realTime = "REAL_TIME"

// The user of TestDatabase on the real clock, with API servers over etcd on the loopback interface,
// without faults. envtest runs tests like this, but with kube-apiserver.
func TestOnTheRealClock(t *testing.T) {
	longest, err := time.ParseDuration(os.Getenv(realTime))
	if err != nil {
		t.Skipf("it takes as long as you want: set %s=5m", realTime)
	}
	ctrl.SetLogger(logr.Discard())
	configs := startCluster(t, "127.0.0.1", "127.0.0.2")
	began, runs := time.Now(), 0
	for ; time.Since(began) < longest; runs++ {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- Run(ctx, configs[runs%2], options()) }()
		u := newUser(t, ctx, configs[0])
		for start := time.Now(); time.Since(start) < within; {
			u.act()
		}
		u.createAll()
		require.Eventually(t, func() bool { return u.asWanted() == nil }, time.Minute, 100*time.Millisecond)
		u.deleteAll()
		require.Eventually(t, func() bool { return u.nothingLeft() == nil }, time.Minute, 100*time.Millisecond)
		stop()
		require.NoError(t, <-ended)
		t.Logf("run %d passed after %v", runs+1, time.Since(began).Round(time.Second))
	}
	t.Logf("%d runs of %v passed", runs, within)
}

// startCluster starts etcd and API servers at these addresses.
func startCluster(t *testing.T, addresses ...string) (configs []*rest.Config) {
	settings := embed.NewConfig()
	settings.Dir, settings.LogLevel = t.TempDir(), "error"
	anywhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	settings.ListenClientUrls, settings.ListenPeerUrls = anywhere, anywhere
	etcd, err := embed.StartEtcd(settings)
	require.NoError(t, err)
	<-etcd.Server.ReadyNotify()
	servers := httpserver.NewKubernetes()
	for _, address := range addresses {
		server, err := servers.Start(target.ServerConfig{Name: address, Endpoints: []string{"http://" + etcd.Clients[0].Addr().String()}})
		require.NoError(t, err)
		listener, err := net.Listen("tcp", net.JoinHostPort(address, "6443"))
		require.NoError(t, err)
		go server.(target.Web).Serve(listener)
		configs = append(configs, &rest.Config{Host: httpserver.URL(address), TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 2000})
	}
	manifest, err := os.ReadFile("crd/databases.yaml")
	require.NoError(t, err)
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(manifest, &definition.Object))
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	require.Eventually(t, func() bool {
		_, err := dynamic.NewForConfigOrDie(configs[0]).Resource(definitions).Create(t.Context(), definition, metav1.CreateOptions{})
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	time.Sleep(5 * time.Second) // until every server serves what is defined
	return configs
}
