// Package snapshots runs the released controllers of CSI volume snapshots in a simulated cluster.
package snapshots

import (
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned"
	snapshotscheme "github.com/kubernetes-csi/external-snapshotter/client/v8/clientset/versioned/scheme"
	"github.com/kubernetes-csi/external-snapshotter/client/v8/informers/externalversions"
	controller "github.com/kubernetes-csi/external-snapshotter/v8/pkg/common-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/metrics"
	sidecar "github.com/kubernetes-csi/external-snapshotter/v8/pkg/sidecar-controller"
	"github.com/kubernetes-csi/external-snapshotter/v8/pkg/snapshotter"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
)

// The defaults of the two programs.
const (
	Resync  = 15 * time.Minute
	workers = 10
	timeout = time.Minute // of a call of the driver
)

// The programs do this for writing events about snapshots.
func init() { utilruntime.Must(snapshotscheme.AddToScheme(scheme.Scheme)) }

// backoff is that of both programs, except for its maximum, which defaults to five minutes.
func backoff() workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 30*time.Second)
}

// RunController runs the program snapshot-controller until ctx is done.
func RunController(ctx context.Context, config *rest.Config, resync time.Duration) error {
	snapshots, core, err := clients(config)
	if err != nil {
		return err
	}
	factory := externalversions.NewSharedInformerFactory(snapshots, resync)
	coreFactory := informers.NewSharedInformerFactory(core, resync)
	v1 := factory.Snapshot().V1()
	c := controller.NewCSISnapshotCommonController(snapshots, core,
		v1.VolumeSnapshots(), v1.VolumeSnapshotContents(), v1.VolumeSnapshotClasses(), nil, nil, nil,
		coreFactory.Core().V1().PersistentVolumeClaims(), coreFactory.Core().V1().PersistentVolumes(), nil,
		metrics.NewMetricsManager(), resync, backoff(), backoff(), backoff(), backoff(), false, true, false)
	factory.Start(ctx.Done())
	coreFactory.Start(ctx.Done())
	c.Run(workers, ctx.Done(), &sync.WaitGroup{})
	return nil
}

// RunSidecar runs the program csi-snapshotter for a driver until ctx is done.
func RunSidecar(ctx context.Context, config *rest.Config, resync time.Duration, name string, driver snapshotter.Snapshotter) error {
	snapshots, core, err := clients(config)
	if err != nil {
		return err
	}
	factory := externalversions.NewSharedInformerFactory(snapshots, resync)
	v1 := factory.Snapshot().V1()
	c := sidecar.NewCSISnapshotSideCarController(snapshots, core, name, v1.VolumeSnapshotContents(), v1.VolumeSnapshotClasses(),
		driver, nil, timeout, resync, "snapshot", -1, "groupsnapshot", -1, false, backoff(), false, nil, nil, backoff())
	factory.Start(ctx.Done())
	c.Run(workers, ctx.Done(), &sync.WaitGroup{})
	return nil
}

func clients(config *rest.Config) (*versioned.Clientset, *kubernetes.Clientset, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit
	snapshots, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	return snapshots, core, err
}

// Definitions is the folder with the release's custom resources, beside the source that this was built from.
func Definitions() string {
	function := runtime.FuncForPC(reflect.ValueOf(versioned.NewForConfig).Pointer())
	file, _ := function.FileLine(function.Entry())
	return filepath.Join(filepath.Dir(file), "..", "..", "config", "crd")
}
