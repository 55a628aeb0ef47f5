package kubernetes

import (
	"sync"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// prepareProcess replaces, once, the process-wide state of Kubernetes' libraries: all API servers
// of a run share one process and must not influence each other. The default error handlers throttle
// by the time of the last error of any server, and initially by the start of the process on the
// machine's clock.
var prepareProcess = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = []func(error){func(err error) { klog.ErrorS(err, "unhandled error") }}
})
