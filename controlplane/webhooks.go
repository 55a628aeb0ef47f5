package controlplane

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// webhooksName is the name of the program that serves webhooks, of its host and of its service; webhooksPort
// is where it listens.
const (
	webhooksName = "webhooks"
	webhooksPort = 8443
)

// Webhooks returns a program for simtest with two webhooks for API servers: one annotates config maps with a
// certain label when they are created, the other converts the objects of a custom resource.
func Webhooks(certificate tls.Certificate) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, _ *rest.Config) error {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", webhooksPort))
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.HandleFunc(admitPath, answer(admit))
		mux.HandleFunc(convertPath, answer(convert))
		server := &http.Server{Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
		go func() {
			<-ctx.Done()
			_ = server.Close()
		}()
		return server.ServeTLS(listener, "", "")
	}
}

// The paths of the webhooks.
var admitPath, convertPath = "/admit", "/convert"

// answer serves a review.
func answer[R any](review func(*R) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var about R
		err := json.NewDecoder(r.Body).Decode(&about)
		if err == nil {
			err = review(&about)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&about)
	}
}

// admitted is the annotation that the admission webhook sets.
const admitted = "example.com/admitted"

// admit admits every object and annotates it.
func admit(review *admissionv1.AdmissionReview) error {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/metadata/annotations", "value": map[string]string{admitted: "yes"}}})
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true, Patch: patch, PatchType: new(admissionv1.PatchTypeJSONPatch),
	}
	review.Request = nil
	return err
}

// The custom resource of the webhooks: the field count of v1 is number in v2.
const (
	gaugeGroup = "example.com"
	firstField = "count"
	laterField = "number"
)

// convert converts gauges.
func convert(review *apiextensionsv1.ConversionReview) error {
	request := review.Request
	review.Response = &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range request.Objects {
		gauge := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw.Raw, gauge); err != nil {
			return err
		}
		from, to := firstField, laterField
		if request.DesiredAPIVersion == gaugeGroup+"/v1" {
			from, to = to, from
		}
		if value, is := gauge.Object[from]; is {
			gauge.Object[to] = value
			delete(gauge.Object, from)
		}
		gauge.SetAPIVersion(request.DesiredAPIVersion)
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: gauge})
	}
	review.Request = nil
	return nil
}
