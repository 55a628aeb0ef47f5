package apiserver

import (
	"context"
	"io"
	"sync"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/watchsim/watchsim/sim"
)

// LogTo sends what Kubernetes' libraries log to w, from the next call of New on
// at the latest, and nil sends it nowhere. Without it nothing is logged. It must not be called while a
// server or an informer runs, and w must not block.
func LogTo(w io.Writer) {
	prepareProcess()
	if w == nil {
		klog.SetLogger(logr.Discard())
		return
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w)))
	klog.SetLogger(logger.WithSink(asideSink{logger.GetSink()}))
}

// prepareProcess replaces, once, the state that Kubernetes' libraries keep for
// the whole process: all API servers of a run share one here, and none may feel the
// others.
var prepareProcess = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())

	// The handlers slow down whoever reports errors too fast, by the time of the
	// last error of any server, and at first by when the process was started on the
	// machine's clock.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, message string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, message, keysAndValues...)
		},
	}

	// The checker is false until it has asked etcd for its version, which only the
	// first server does: if that is killed meanwhile, it is false for all servers.
	etcdfeature.DefaultFeatureSupportChecker = allFeatures{etcdfeature.NewDefaultFeatureSupportChecker()}
})

// allFeatures says that etcd supports what the API server wants of it, which is
// true of the etcd the harness runs. What the checker within finds out is not used.
type allFeatures struct {
	etcdfeature.FeatureSupportChecker
}

// Supports implements feature.FeatureSupportChecker.
func (allFeatures) Supports(storage.Feature) bool { return true }

// MarkUnsupported implements feature.FeatureSupportChecker.
func (allFeatures) MarkUnsupported(storage.Feature) {}

// asideSink keeps what a sink does to a message out of the run that logs it.
type asideSink struct{ logr.LogSink }

// Info implements logr.LogSink.
func (s asideSink) Info(level int, message string, keysAndValues ...any) {
	sim.Aside(func() { s.LogSink.Info(level, message, keysAndValues...) })
}

// Error implements logr.LogSink.
func (s asideSink) Error(err error, message string, keysAndValues ...any) {
	sim.Aside(func() { s.LogSink.Error(err, message, keysAndValues...) })
}

// WithValues implements logr.LogSink.
func (s asideSink) WithValues(keysAndValues ...any) (with logr.LogSink) {
	sim.Aside(func() { with = asideSink{s.LogSink.WithValues(keysAndValues...)} })
	return with
}

// WithName implements logr.LogSink.
func (s asideSink) WithName(name string) (with logr.LogSink) {
	sim.Aside(func() { with = asideSink{s.LogSink.WithName(name)} })
	return with
}
