package apiserver

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/watchsim/watchsim/sim"
)

// LogTo sends the logs of Kubernetes' libraries to w, from the next call of New at the
// latest; nil discards them, which is the default. No server or informer may run during
// the call, and w must not block.
func LogTo(w io.Writer) {
	prepareProcess()
	if w == nil {
		klog.SetLogger(logr.Discard())
		return
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w), textlogger.WithHeader(false)))
	klog.SetLogger(logger.WithSink(asideSink{logger.GetSink()}))
}

// prepareProcess replaces, once, the process-wide state of Kubernetes' libraries: all
// API servers of a run share one process and must not influence each other.
var prepareProcess = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())

	// The default handlers throttle errors by the time of the last error of any server,
	// and initially by the start of the process on the machine's clock.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, message string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, message, keysAndValues...)
		},
	}

	// The checker returns false until it has queried etcd's version, which only the
	// first server does: if that one is killed meanwhile, all servers get false.
	etcdfeature.DefaultFeatureSupportChecker = allFeatures{etcdfeature.DefaultFeatureSupportChecker}

	// The check looks for signs of life from a goroutine that the first server starts: if
	// that one is killed, no server is healthy two minutes later.
	healthz.LogHealthz = healthz.NamedCheck("log", func(*http.Request) error { return nil })
})

// allFeatures reports that etcd supports what the API server needs, which is true of
// the simulated members. The embedded checker's results are ignored.
type allFeatures struct {
	etcdfeature.FeatureSupportChecker
}

func (allFeatures) Supports(storage.Feature) bool   { return true }
func (allFeatures) MarkUnsupported(storage.Feature) {}

// asideSink keeps a sink's processing of a message out of the run that logs it.
type asideSink struct{ logr.LogSink }

func (s asideSink) Info(level int, message string, keysAndValues ...any) {
	sim.Aside(func() { s.LogSink.Info(level, message, keysAndValues...) })
}

func (s asideSink) Error(err error, message string, keysAndValues ...any) {
	sim.Aside(func() { s.LogSink.Error(err, message, keysAndValues...) })
}

func (s asideSink) WithValues(keysAndValues ...any) (with logr.LogSink) {
	sim.Aside(func() { with = asideSink{s.LogSink.WithValues(keysAndValues...)} })
	return with
}

func (s asideSink) WithName(name string) (with logr.LogSink) {
	sim.Aside(func() { with = asideSink{s.LogSink.WithName(name)} })
	return with
}
