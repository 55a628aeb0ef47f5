package kubernetes

import (
	"sync"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// prepareProcess replaces, once, the state that Kubernetes' libraries keep for the
// whole process: one process here holds many servers, one run after the other, and
// none may feel that another one ran before it. The handlers of errors slow down
// whoever reports them too fast, by the time of the last error in the process.
var prepareProcess = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = []func(error){func(err error) { klog.ErrorS(err, "unhandled error") }}
})
