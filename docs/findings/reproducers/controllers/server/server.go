// Package server runs an API server over etcd, both in this process, over loopback and on the real clock.
package server

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/yaml"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Namespace is the namespace of all objects.
const Namespace = "default"

// Start runs an API server with the custom resources defined in a folder, and waits until it serves them.
func Start(definitions string) *rest.Config {
	etcd := rig.StartEtcd()
	const address = "127.0.0.1"
	certificate := func() (target.Certificate, error) {
		valid, _, err := target.NewCertificates(target.CertificateName)
		return valid, err
	}
	server := rig.Value(httpserver.NewKubernetes().Start(target.ServerConfig{Name: address, Endpoints: []string{"http://" + etcd}, Certificate: certificate}))
	listener := rig.Value(net.Listen("tcp", net.JoinHostPort(address, "6443")))
	go server.(target.Web).Serve(listener)
	config := &rest.Config{Host: httpserver.URL(address), TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	define(dynamic.NewForConfigOrDie(config), definitions)
	return config
}

// Away returns the configuration of a client that is not on the machine of its API server. Its requests pass through wrap, if it is given.
func Away(config *rest.Config, wrap transport.WrapperFunc) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(wrap)
	config.Wrap(rig.Before(func(*http.Request) { time.Sleep(20 * time.Millisecond) }))
	return config
}

// Source returns the folder with the source of a function, in the release that this was built from.
func Source(function any) string {
	compiled := runtime.FuncForPC(reflect.ValueOf(function).Pointer())
	file, _ := compiled.FileLine(compiled.Entry())
	return filepath.Dir(file)
}

func define(client dynamic.Interface, folder string) {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	definitions := client.Resource(resource)
	for _, path := range rig.Value(filepath.Glob(filepath.Join(folder, "*.yaml"))) {
		manifest := rig.Value(os.ReadFile(path))
		definition := &unstructured.Unstructured{}
		rig.Must(yaml.Unmarshal([]byte(strings.TrimPrefix(string(manifest), "---\n")), &definition.Object))
		if definition.GetKind() != "CustomResourceDefinition" {
			continue
		}
		var err error
		rig.Until(func() bool {
			_, err = definitions.Create(context.Background(), definition, metav1.CreateOptions{})
			return err == nil
		})
		rig.Must(err)
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		for _, v := range versions {
			version := v.(map[string]any)
			if version["served"] != true {
				continue
			}
			served := schema.GroupVersionResource{Group: group, Version: version["name"].(string), Resource: plural}
			rig.Until(func() bool {
				_, err = client.Resource(served).List(context.Background(), metav1.ListOptions{})
				return !apierrors.IsNotFound(err)
			})
			rig.Must(err)
		}
	}
}
