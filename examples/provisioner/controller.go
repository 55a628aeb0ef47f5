// Package provisioner runs the controller of external provisioners of volumes, as it is released, in a simulated cluster.
package provisioner

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Name is that of the provisioner.
const Name = "example.com/volumes"

// Run runs what a provisioner does until ctx is done. It tries again what has failed for as long as it takes, and waits for less
// than it does by default, which is up to a quarter of an hour.
func Run(ctx context.Context, config *rest.Config, storage controller.Provisioner) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	controller.NewProvisionController(ctx, client, Name, storage,
		controller.LeaderElection(false), controller.MetricsPort(0),
		controller.CreateProvisionedPVInterval(time.Second),
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 10*time.Second)),
		controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
	).Run(ctx)
	return nil
}
