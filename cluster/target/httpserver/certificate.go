package httpserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// newCertificate returns a certificate with an elliptic key: handshakes with an RSA key, as
// API servers make by themselves, would take a fifth of the time of a run.
func newCertificate() (dynamiccertificates.CertKeyContentProvider, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "apiserver"},
		NotBefore: time.Now(), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return dynamiccertificates.NewStaticCertKeyContent("certificate of all API servers",
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}
