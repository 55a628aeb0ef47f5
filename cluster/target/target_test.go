package target_test

import (
	"crypto/x509"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
)

// A client that trusts the valid certificate accepts it, and rejects the expired one.
func TestCertificates(t *testing.T) {
	valid, expired, err := target.NewCertificates(target.CertificateName)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(valid.Chain))
	verify := func(certificate target.Certificate) error {
		pair, err := certificate.Pair()
		require.NoError(t, err)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: target.CertificateName, Roots: roots})
		return err
	}
	require.NoError(t, verify(valid))
	var invalid x509.CertificateInvalidError
	require.ErrorAs(t, verify(expired), &invalid)
	require.Equal(t, x509.Expired, invalid.Reason)
}

func TestEveryReleaseHasItsFiles(t *testing.T) {
	for _, release := range target.Releases() {
		require.FileExists(t, filepath.Join(release.Dir("../.."), "go.mod"))
		require.DirExists(t, filepath.Join(release.Dir("../.."), target.ReleaseWorker))
		found, known := target.FindRelease(release.Name)
		require.True(t, known)
		require.Equal(t, release, found)
	}
	_, known := target.FindRelease("kubernetes-0.1")
	require.False(t, known)
}
