package server

import (
	"context"
	"net/url"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// patience bounds every wait of these tests. It is far beyond what they take.
const patience = 30 * time.Second

// asCommand makes this test binary the command, so that tests can send it signals.
const asCommand = "WIDGETS_APISERVER_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// startEtcd starts a member for the time of a test.
func startEtcd(t *testing.T) *Etcd {
	t.Helper()
	etcd, err := StartEtcd()
	require.NoError(t, err)
	t.Cleanup(etcd.Stop)
	return etcd
}

// apiServer is a stand-alone server that runs, and a client of it that is nobody in
// particular.
type apiServer struct {
	t       *testing.T
	config  *rest.Config
	dynamic dynamic.Interface
	widgets *rest.RESTClient // typed
	stop    func()           // makes it end, and waits for that
}

// start runs a server over etcd until the test ends or stops it. change may change
// its options.
func start(t *testing.T, cache WatchCache, etcd *Etcd, change func(*Options)) *apiServer {
	t.Helper()
	options := NewOptions()
	options.WatchCache = cache
	options.Standalone = true
	options.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
	options.Recommended.SecureServing.BindPort = 0
	if change != nil {
		change(options)
	}
	s := &apiServer{t: t}
	address, stop := launch(t, options)
	s.stop = stop
	s.connect(address)
	return s
}

// launch runs a server until the test ends or stops it, and returns where it
// listens.
func launch(t *testing.T, options *Options) (address string, stop func()) {
	t.Helper()
	options.Complete()
	require.NoError(t, options.Validate())
	server, err := New(options)
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "the server does not end")
		}
	})
	t.Cleanup(stop)
	return server.Address(), stop
}

// connect makes the clients, and waits for the server to be ready.
func (s *apiServer) connect(address string) {
	s.config = &rest.Config{Host: "https://" + address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	var err error
	s.dynamic, err = dynamic.NewForConfig(s.config)
	require.NoError(s.t, err)
	typed := rest.CopyConfig(s.config)
	typed.APIPath = "/apis"
	typed.GroupVersion = &v1.GroupVersion
	typed.NegotiatedSerializer = codecs.WithoutConversion()
	s.widgets, err = rest.RESTClientFor(typed)
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool {
		_, err := s.widgets.Get().AbsPath("/readyz").DoRaw(s.t.Context())
		return err == nil
	}, patience, 10*time.Millisecond)
}

// create makes a widget.
func (s *apiServer) create(namespace, name, node string, labels map[string]string) *v1.Widget {
	s.t.Helper()
	widget := &v1.Widget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       v1.WidgetSpec{NodeName: node},
	}
	created := &v1.Widget{}
	require.NoError(s.t, s.widgets.Post().Namespace(namespace).Resource("widgets").Body(widget).Do(s.t.Context()).Into(created))
	return created
}

// update replaces a widget.
func (s *apiServer) update(widget *v1.Widget) *v1.Widget {
	s.t.Helper()
	updated := &v1.Widget{}
	require.NoError(s.t, s.widgets.Put().Namespace(widget.Namespace).Resource("widgets").Name(widget.Name).Body(widget).Do(s.t.Context()).Into(updated))
	return updated
}

// remove deletes a widget.
func (s *apiServer) remove(widget *v1.Widget) {
	s.t.Helper()
	require.NoError(s.t, s.widgets.Delete().Namespace(widget.Namespace).Resource("widgets").Name(widget.Name).Do(s.t.Context()).Error())
}

// list lists the widgets of a namespace.
func (s *apiServer) list(namespace string, options metav1.ListOptions) (*v1.WidgetList, error) {
	list := &v1.WidgetList{}
	err := s.widgets.Get().Namespace(namespace).Resource("widgets").SpecificallyVersionedParams(&options, metav1.ParameterCodec, v1.GroupVersion).Do(s.t.Context()).Into(list)
	return list, err
}

// watch watches the widgets of a namespace until the test ends.
func (s *apiServer) watch(namespace string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	w, err := s.widgets.Get().Namespace(namespace).Resource("widgets").SpecificallyVersionedParams(&options, metav1.ParameterCodec, v1.GroupVersion).Watch(s.t.Context())
	if err == nil {
		s.t.Cleanup(w.Stop)
	}
	return w, err
}

// mustWatch watches where that has to succeed.
func (s *apiServer) mustWatch(namespace string, options metav1.ListOptions) watch.Interface {
	s.t.Helper()
	w, err := s.watch(namespace, options)
	require.NoError(s.t, err)
	return w
}

// next returns the next event of a watch.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, open := <-w.ResultChan():
		require.True(t, open, "the watch has ended")
		return event
	case <-time.After(patience):
		require.Fail(t, "no event")
		return watch.Event{}
	}
}

// requireEvent reads the next event and compares it with what it should be about.
func requireEvent(t *testing.T, w watch.Interface, want watch.EventType, name, resourceVersion string) {
	t.Helper()
	event := next(t, w)
	require.Equal(t, want, event.Type, "%v", event.Object)
	widget := event.Object.(*v1.Widget)
	require.Equal(t, [2]string{name, resourceVersion}, [2]string{widget.Name, widget.ResourceVersion})
}

// namesOf returns the names in a list.
func namesOf(list *v1.WidgetList) []string {
	var names []string
	for _, widget := range list.Items {
		names = append(names, widget.Name)
	}
	return names
}

// get fetches a path of the server as text.
func (s *apiServer) get(path string) string {
	s.t.Helper()
	body, err := s.widgets.Get().AbsPath(path).DoRaw(s.t.Context())
	require.NoError(s.t, err)
	return string(body)
}

// port is where the server listens.
func (s *apiServer) port() int {
	address, err := url.Parse(s.config.Host)
	require.NoError(s.t, err)
	port, err := strconv.Atoi(address.Port())
	require.NoError(s.t, err)
	return port
}
