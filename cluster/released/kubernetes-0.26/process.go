package kubernetes

import (
	"sync"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// prepareProcess replaces, once, the state that Kubernetes' libraries keep for the
// whole process: all API servers of a run share one here, and none may feel the others.
// The handlers of errors slow down whoever reports them too fast, by the time of the
// last error of any server, and at first by when the process was started on the
// machine's clock.
var prepareProcess = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = []func(error){func(err error) { klog.ErrorS(err, "unhandled error") }}
})
