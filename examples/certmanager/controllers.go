// Package certmanager runs the released cert-manager in a simulated cluster.
package certmanager

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"golang.org/x/sync/errgroup"
)

// Run runs the controllers that issue certificates, with cert-manager's default settings, until ctx is done. They
// reach the API at the address.
func Run(ctx context.Context, address string, backoff time.Duration) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		APIServerHost: address, KubernetesAPIQPS: -1, // no limit, as with servers that have priority and fairness
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: backoff, CertificateRequestMaximumBackoffDuration: 32 * backoff,
		},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	controllers := controller.Known()
	for _, name := range slices.Sorted(maps.Keys(controllers)) {
		one, err := controllers[name](factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group.Go(func() error { return one.Run(workers, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}

// Definitions is the folder with the release's custom resources, beside the source that this was built from.
func Definitions() string {
	function := runtime.FuncForPC(reflect.ValueOf(controller.NewBuilder).Pointer())
	file, _ := function.FileLine(function.Entry())
	return filepath.Join(filepath.Dir(file), "..", "..", "deploy", "crds")
}

// workers is cert-manager's default number of goroutines of a controller.
const workers = 5

// Backoff is cert-manager's default wait before it retries.
const Backoff = time.Hour
