// Package certmanager runs the released controllers of cert-manager over an API server.
package certmanager

import (
	"context"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/examples/certmanager"
	"github.com/watchsim/watchsim/simtest"
)

// SelfSigned is the name of an issuer that signs with the certificate's own key.
const SelfSigned = "self-signed"

// Start runs an API server with cert-manager's resources, its controllers with their default settings, and a ready issuer. The
// controllers' requests pass through wrap, if it is given.
func Start(wrap transport.WrapperFunc) *rest.Config {
	config := server.Start(certmanager.Definitions())
	ctx := context.Background()
	proxied := rig.Value(simtest.Proxy(ctx, server.Away(config, wrap)))
	go func() { rig.Must(certmanager.Run(ctx, proxied, certmanager.Backoff)) }()
	issuer := &cmapi.Issuer{ObjectMeta: metav1.ObjectMeta{Name: SelfSigned}}
	issuer.Spec.SelfSigned = &cmapi.SelfSignedIssuer{}
	issuers := versioned.NewForConfigOrDie(config).Issuers(server.Namespace)
	rig.Create(issuers, issuer)
	rig.Until(func() bool {
		issuer = rig.Get(issuers, SelfSigned)
		return apiutil.IssuerHasCondition(issuer, cmapi.IssuerCondition{Type: cmapi.IssuerConditionReady, Status: cmmeta.ConditionTrue})
	})
	return config
}
