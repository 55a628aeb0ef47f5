// Package provisioner runs the released controller of external volume provisioners in a simulated cluster.
package provisioner

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Name is the name of the provisioner.
const Name = "example.com/volumes"

// Run runs a provisioner until ctx is done. It retries failures forever, with a shorter maximum backoff than the default of up
// to a quarter of an hour.
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
