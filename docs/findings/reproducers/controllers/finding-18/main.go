// Finding 18: each failed update of the status counts a failure again, and doubles the wait for the next attempt.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/certmanager"
	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// refusals is how many updates of certificates an overloaded API server rejects.
var refusals atomic.Int64

func overloaded(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/certificates/") && refusals.Add(-1) >= 0 {
		body := io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}`))
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: request}, nil
	}
	return inner.RoundTrip(request)
}

func main() {
	client := versioned.NewForConfigOrDie(certmanager.Start(rig.Wrap(overloaded)))
	counted := failOnce(client, "at-once", func() {})
	fmt.Printf("one request of a certificate fails: failed attempts counted: %d\n", counted)
	counted = failOnce(client, "later", func() { refusals.Store(5) })
	fmt.Printf("the same, and 5 updates of the status fail: %d, so that cert-manager waits for %dh instead of 1h\n", counted, min(32, 1<<(counted-1)))
	rig.VerdictOfOne(counted > 1, "a failure counts more than once")
}

// failOnce fails the only request of a certificate after begin, and returns how many attempts count as failed.
func failOnce(client versioned.CertmanagerV1Interface, name string, begin func()) int {
	ctx := context.Background()
	certmanager.Certificate(client, name, "issuer", "example.com") // an external issuer: this program
	var request *cmapi.CertificateRequest
	rig.Until(func() bool {
		var err error
		request, err = client.CertificateRequests(server.Namespace).Get(ctx, name+"-1", metav1.GetOptions{})
		return err == nil && apiutil.CertificateRequestIsApproved(request)
	})
	begin()
	now := metav1.Now()
	request.Status.FailureTime = &now
	apiutil.SetCertificateRequestCondition(request, cmapi.CertificateRequestConditionReady, cmmeta.ConditionFalse, cmapi.CertificateRequestReasonFailed, "no")
	rig.UpdateStatus(client.CertificateRequests(server.Namespace), request)
	for range 6 { // each retry waits longer
		rig.Until(func() bool { return !certmanager.IsIssuing(certmanager.Get(client, name)) })
	}
	return *certmanager.Get(client, name).Status.FailedIssuanceAttempts
}
