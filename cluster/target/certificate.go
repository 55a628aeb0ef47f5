package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// CertificateName is the host name in the certificates of all API servers.
const CertificateName = "apiserver"

// Certificate is a server's self-signed certificate and its key, both in PEM.
type Certificate struct{ Chain, Key []byte }

// Pair returns the certificate for package tls.
func (c Certificate) Pair() (tls.Certificate, error) { return tls.X509KeyPair(c.Chain, c.Key) }

// validity is how long certificates are valid, as with kubeadm. No clock is moved that far.
const validity = 365 * 24 * time.Hour

// NewCertificates returns a valid certificate for a name, and one with the same key that has just expired. The key is elliptic:
// handshakes with an RSA key would take a fifth of the time of a run.
func NewCertificates(name string) (valid, expired Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return valid, expired, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return valid, expired, err
	}
	issue := func(from time.Time) (issued Certificate, err error) {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
			NotBefore: from, NotAfter: from.Add(validity), IsCA: true, BasicConstraintsValid: true,
		}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		issued.Chain = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
		issued.Key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
		return issued, err
	}
	now := time.Now()
	if valid, err = issue(now.Add(-validity / 2)); err != nil {
		return valid, expired, err
	}
	expired, err = issue(now.Add(-validity))
	return valid, expired, err
}
