// Finding 17: renewing a certificate as soon as it is issued fails, and is not retried for an hour.
package main

import (
	"context"
	"fmt"
	"time"

	apiutil "github.com/cert-manager/cert-manager/pkg/api/util"
	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	versioned "github.com/cert-manager/cert-manager/pkg/client/clientset/versioned/typed/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/certmanager"
	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	rounds = 100
	name   = "certificate"
)

func main() {
	client := versioned.NewForConfigOrDie(certmanager.Start(nil))
	certmanager.Certificate(client, name, certmanager.SelfSigned, "")
	shown := 0
	for range rounds {
		rig.Until(func() bool {
			return !certmanager.IsIssuing(certmanager.Get(client, name)) && certmanager.Get(client, name).Status.Conditions != nil
		})
		certificate := certmanager.Get(client, name)
		if certificate.Status.LastFailureTime != nil {
			if shown++; shown == 1 {
				fmt.Println("the certificate is not issued:", apiutil.GetCertificateCondition(certificate, cmapi.CertificateConditionIssuing).Message)
			}
		}
		for renew(client) != nil {
			time.Sleep(time.Millisecond)
		}
	}
	rig.Verdict(shown, rounds, "a renewal fails, although nothing is wrong, and is not retried for an hour,")
}

// renew does what cmctl renew does.
func renew(client versioned.CertmanagerV1Interface) error {
	certificate := certmanager.Get(client, name)
	apiutil.SetCertificateCondition(certificate, certificate.Generation, cmapi.CertificateConditionIssuing, cmmeta.ConditionTrue, "ManuallyTriggered", "renewed")
	_, err := client.Certificates(server.Namespace).UpdateStatus(context.Background(), certificate, metav1.UpdateOptions{})
	return err
}
