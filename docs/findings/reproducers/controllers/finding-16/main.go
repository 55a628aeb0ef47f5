// Finding 16: a request whose issuer reference has no group stays pending if the secret with its key arrives late.
package main

import (
	"encoding/pem"
	"fmt"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	api "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/util/pki"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/certmanager"
	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const key = "key"

func main() {
	config := certmanager.Start(nil)
	client := versioned.NewForConfigOrDie(config)
	certificate := &cmapi.Certificate{Spec: cmapi.CertificateSpec{DNSNames: []string{"example.com"}, PrivateKey: &cmapi.CertificatePrivateKey{Algorithm: cmapi.ECDSAKeyAlgorithm}}}
	signer := rig.Value(pki.GenerateECPrivateKey(pki.ECCurve256))
	csr := rig.Value(pki.GenerateCSR(certificate))
	der := rig.Value(pki.EncodeCSR(csr, signer))
	for name, group := range map[string]string{"with-group": api.GroupName, "without-group": ""} {
		rig.Create(client.CertificateRequests(server.Namespace), &cmapi.CertificateRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{cmapi.CertificateRequestPrivateKeyAnnotationKey: key}},
			Spec:       cmapi.CertificateRequestSpec{Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), IssuerRef: cmmeta.IssuerReference{Name: certmanager.SelfSigned, Group: group}},
		})
	}
	reason := func(name string) string {
		request := rig.Get(client.CertificateRequests(server.Namespace), name)
		return apiutil.CertificateRequestReadyReason(request)
	}
	rig.Until(func() bool {
		return reason("with-group") == cmapi.CertificateRequestReasonPending && reason("without-group") == cmapi.CertificateRequestReasonPending
	})
	fmt.Printf("before their key is there, the request with a group is %q, and the one without is %q\n", reason("with-group"), reason("without-group"))

	encoded := rig.Value(pki.EncodePrivateKey(signer, cmapi.PKCS8))
	rig.Create(kubernetes.NewForConfigOrDie(config).CoreV1().Secrets(server.Namespace),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: key}, Data: map[string][]byte{corev1.TLSPrivateKeyKey: encoded}})
	time.Sleep(10 * time.Second)
	fmt.Printf("10s after it has come, the request with a group is %q, and the one without is %q\n", reason("with-group"), reason("without-group"))
	if reason("with-group") != cmapi.CertificateRequestReasonIssued {
		rig.Must(fmt.Errorf("expected the request with a group to be issued"))
	}
	rig.VerdictOfOne(reason("without-group") != cmapi.CertificateRequestReasonIssued, "a request stays pending, although its key is there")
}
