package simtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// bootTime is the longest simulated time until a cluster serves everything.
const bootTime = time.Minute

// prepare waits until all API servers serve, and defines the custom resources.
func (c *Cluster) prepare() (err error) {
	definitions, err := readDefinitions(c.settings.CRDs)
	if err != nil {
		return err
	}
	setup := c.world.Process(setupClient)
	defer setup.Crash() // this closes its connections
	setup.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bootTime)
		defer cancel()
		for _, server := range c.booted.Servers() {
			if err = c.ready(ctx, server); err != nil {
				return
			}
		}
		for _, definition := range definitions {
			if err = c.define(ctx, definition); err != nil {
				return
			}
		}
	})
	return err
}

// until repeats a request until it succeeds.
func until(ctx context.Context, request func() error) error {
	var last error // more useful than "deadline exceeded"
	for {
		err := request()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errors.Join(ctx.Err(), last)
		}
		last = err
		time.Sleep(20 * time.Millisecond)
	}
}

// Servers returns the names of the API servers.
func (c *Cluster) Servers() []string { return c.booted.Servers() }

// RestartServer stops an API server gracefully, starts it again, as an upgrade does, and waits until it is ready.
func (c *Cluster) RestartServer(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bootTime)
	defer cancel()
	if err := c.booted.Surface(c).RestartServer(ctx, name); err != nil {
		return fmt.Errorf("restart API server: %w", err)
	}
	return c.ready(ctx, name)
}

func (c *Cluster) ready(ctx context.Context, server string) error {
	client, err := kubernetes.NewForConfig(c.config(setupClient, []string{server}))
	if err != nil {
		return err
	}
	err = until(ctx, func() error { return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() })
	if err != nil {
		return fmt.Errorf("%s is not ready: %w", server, err)
	}
	return nil
}

var definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define creates a definition and waits until every server serves the resource.
func (c *Cluster) define(ctx context.Context, definition *unstructured.Unstructured) error {
	for i, server := range c.booted.Servers() {
		client, err := dynamic.NewForConfig(c.config(setupClient, []string{server}))
		if err != nil {
			return err
		}
		if i == 0 {
			if _, err := client.Resource(definitionsResource).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("define %s: %w", definition.GetName(), err)
			}
		}
		for _, resource := range served(definition) {
			err := until(ctx, func() error {
				_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
				return err
			})
			if err != nil {
				return fmt.Errorf("%s does not serve %s: %w", server, resource, err)
			}
		}
	}
	return nil
}

// served returns the resources that a definition makes the servers serve.
func served(definition *unstructured.Unstructured) (all []schema.GroupVersionResource) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		if fields, is := version.(map[string]any); is && fields["served"] == true {
			all = append(all, schema.GroupVersionResource{Group: group, Version: fmt.Sprint(fields["name"]), Resource: plural})
		}
	}
	return all
}

// readDefinitions reads the definitions of custom resources from files and folders of YAML.
func readDefinitions(paths []string) (all []*unstructured.Unstructured, err error) {
	for _, path := range paths {
		found := len(all)
		err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || file != path && !slices.Contains(manifests, filepath.Ext(file)) {
				return err
			}
			inFile, err := readManifest(file)
			all = append(all, inFile...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("expected definitions of custom resources in %s: %w", path, err)
		}
		if len(all) == found {
			return nil, fmt.Errorf("expected definitions of custom resources in %s, found none", path)
		}
	}
	return all, nil
}

// manifests are the suffixes of files that are read from a folder.
var manifests = []string{".yaml", ".yml", ".json"}

// readManifest returns the definitions of custom resources in a file, which may contain other
// objects, too.
func readManifest(path string) (all []*unstructured.Unstructured, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(content)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			if object.GetAPIVersion() != "apiextensions.k8s.io/v1" {
				return nil, errors.New(path + ": expected apiextensions.k8s.io/v1, found " + object.GetAPIVersion())
			}
			all = append(all, object)
		}
	}
}
