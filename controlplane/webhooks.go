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
		mux := http.NewServeMux()
		mux.HandleFunc(admitPath, answer(admit))
		mux.HandleFunc(convertPath, answer(convert))
		return serve(ctx, webhooksPort, &http.Server{Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	}
}

// serve runs a server until ctx is done, with TLS if it has a certificate.
func serve(ctx context.Context, port int, server *http.Server) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// The paths of the webhooks.
var admitPath, convertPath = "/admit", "/convert"

// answer serves requests and responses in JSON.
func answer[Request, Response any](respond func(context.Context, *Request) (*Response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request Request
		var response *Response
		err := json.NewDecoder(r.Body).Decode(&request)
		if err == nil {
			response, err = respond(r.Context(), &request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
	}
}

// admitted is the annotation that the admission webhook sets.
const admitted = "example.com/admitted"

// admit admits every object and annotates it.
func admit(_ context.Context, review *admissionv1.AdmissionReview) (*admissionv1.AdmissionReview, error) {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/metadata/annotations", "value": map[string]string{admitted: "yes"}}})
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true, Patch: patch, PatchType: new(admissionv1.PatchTypeJSONPatch),
	}
	review.Request = nil
	return review, err
}

// The custom resource of the webhooks: the field count of v1 is number in v2.
const (
	gaugeGroup = "example.com"
	firstField = "count"
	laterField = "number"
)

// convert converts gauges.
func convert(_ context.Context, review *apiextensionsv1.ConversionReview) (*apiextensionsv1.ConversionReview, error) {
	request := review.Request
	review.Response = &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range request.Objects {
		gauge := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw.Raw, gauge); err != nil {
			return nil, err
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
	return review, nil
}
