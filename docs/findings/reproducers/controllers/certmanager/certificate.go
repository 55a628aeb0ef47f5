package certmanager

import (
	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	api "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Certificate creates a certificate. group is its issuer's group, "" for cert-manager's.
func Certificate(client versioned.CertmanagerV1Interface, name, issuer, group string) {
	if group == "" {
		group = api.GroupName
	}
	rig.Create(client.Certificates(server.Namespace), &cmapi.Certificate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cmapi.CertificateSpec{
		SecretName: name, DNSNames: []string{"example.com"}, IssuerRef: cmmeta.IssuerReference{Name: issuer, Kind: cmapi.IssuerKind, Group: group},
		PrivateKey: &cmapi.CertificatePrivateKey{Algorithm: cmapi.ECDSAKeyAlgorithm, RotationPolicy: cmapi.RotationPolicyAlways},
	}})
}

// Get returns a certificate.
func Get(client versioned.CertmanagerV1Interface, name string) *cmapi.Certificate {
	return rig.Get(client.Certificates(server.Namespace), name)
}

// IsIssuing reports whether a certificate has the condition Issuing.
func IsIssuing(certificate *cmapi.Certificate) bool {
	return apiutil.CertificateHasCondition(certificate, cmapi.CertificateCondition{Type: cmapi.CertificateConditionIssuing, Status: cmmeta.ConditionTrue})
}
