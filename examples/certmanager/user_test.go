package certmanager

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned"
	cmclient "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/util/pki"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const namespace = "default"

// user creates certificates, changes their names, renews them, and deletes their secrets.
type user struct {
	t            testing.TB
	ctx          context.Context
	certificates cmclient.CertificateInterface
	secrets      coreclient.SecretInterface
	pace         time.Duration // between two actions, at most
}

// The certificates of a user are named after what happens to their keys when they are reissued.
const (
	rotated = "rotated"
	kept    = "kept"
)

var names = []string{rotated, kept}

// newUser creates an issuer that signs a certificate with its own key, and certificates of it.
func newUser(t testing.TB, ctx context.Context, config *rest.Config, issuer cmmeta.IssuerReference) *user {
	client := versioned.NewForConfigOrDie(config).CertmanagerV1()
	u := &user{
		t: t, ctx: ctx, certificates: client.Certificates(namespace), secrets: kubernetes.NewForConfigOrDie(config).CoreV1().Secrets(namespace),
		pace: time.Millisecond + rand.N(3*time.Second),
	}
	selfSigned := &cmapi.Issuer{ObjectMeta: metav1.ObjectMeta{Name: issuer.Name}}
	selfSigned.Spec.SelfSigned = &cmapi.SelfSignedIssuer{}
	_, err := client.Issuers(namespace).Create(ctx, selfSigned, metav1.CreateOptions{})
	require.NoError(t, err)
	for name, policy := range map[string]cmapi.PrivateKeyRotationPolicy{rotated: cmapi.RotationPolicyAlways, kept: cmapi.RotationPolicyNever} {
		_, err := u.certificates.Create(ctx, &cmapi.Certificate{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cmapi.CertificateSpec{
			SecretName: name + "-tls", DNSNames: []string{"example.com"}, IssuerRef: issuer,
			PrivateKey: &cmapi.CertificatePrivateKey{Algorithm: cmapi.ECDSAKeyAlgorithm, RotationPolicy: policy},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return u
}

// act does something with one of the certificates.
func (u *user) act() {
	name := names[rand.IntN(len(names))]
	switch rand.IntN(5) {
	case 0:
		u.patch(name, fmt.Sprintf(`{"spec":{"dnsNames":["%d.example.com"]}}`, rand.IntN(4)))
	case 1:
		u.patch(rotated, fmt.Sprintf(`{"spec":{"privateKey":{"size":%d}}}`, []int{256, 384}[rand.IntN(2)]))
	case 2:
		u.patch(name, fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, 1+rand.IntN(3)))
	case 3:
		u.do(func() error { return u.secrets.Delete(u.ctx, name+"-tls", metav1.DeleteOptions{}) })
	case 4:
		u.do(func() error { return u.renew(name) })
	}
	time.Sleep(rand.N(u.pace))
}

func (u *user) patch(name, text string) {
	u.do(func() error {
		_, err := u.certificates.Patch(u.ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	})
}

// renew does what cmctl renew does.
func (u *user) renew(name string) error {
	certificate, err := u.certificates.Get(u.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	apiutil.SetCertificateCondition(certificate, certificate.Generation, cmapi.CertificateConditionIssuing, cmmeta.ConditionTrue, "ManuallyTriggered", "renewed")
	_, err = u.certificates.UpdateStatus(u.ctx, certificate, metav1.UpdateOptions{})
	return err
}

// do retries a request until it succeeds, or its object is gone.
func (u *user) do(request func() error) {
	for err := request(); err != nil && !apierrors.IsNotFound(err); err = request() {
		time.Sleep(100 * time.Millisecond)
	}
}

// issued returns an error until each certificate is as the user wants, and nothing remains to be done.
func (u *user) issued() error {
	for _, name := range names {
		certificate, err := u.certificates.Get(u.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range certificate.Status.Conditions {
			switch {
			case c.Type == cmapi.CertificateConditionReady && (c.Status != cmmeta.ConditionTrue || c.ObservedGeneration != certificate.Generation),
				c.Type == cmapi.CertificateConditionIssuing && c.Status == cmmeta.ConditionTrue:
				return fmt.Errorf("%s, of generation %d: %s is %s since generation %d: %s", name, certificate.Generation, c.Type, c.Status, c.ObservedGeneration, c.Message)
			}
		}
		secret, err := u.secrets.Get(u.ctx, certificate.Spec.SecretName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := matches(secret, certificate); err != nil {
			return fmt.Errorf("%s: %w", secret.Name, err)
		}
	}
	next, err := u.secrets.List(u.ctx, metav1.ListOptions{LabelSelector: cmapi.IsNextPrivateKeySecretLabelKey + "=true"})
	if err == nil && len(next.Items) > 0 {
		err = fmt.Errorf("expected no secrets of next private keys, found %s", next.Items[0].Name)
	}
	return err
}

// matches returns an error if a secret does not match its certificate.
func matches(secret *corev1.Secret, certificate *cmapi.Certificate) error {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return err
	}
	if !slices.Equal(pair.Leaf.DNSNames, certificate.Spec.DNSNames) {
		return fmt.Errorf("expected a certificate for %q, found one for %q", certificate.Spec.DNSNames, pair.Leaf.DNSNames)
	}
	if violations := pki.PrivateKeyMatchesSpec(pair.PrivateKey, certificate.Spec); len(violations) > 0 {
		return fmt.Errorf("the key is not as wanted: %q", violations)
	}
	return nil
}
