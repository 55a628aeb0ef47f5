package simtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// namespace draws the namespace of a resource's objects.
func (of askedOf) namespace() string {
	if of.global {
		return ""
	}
	return oneOf(namespaces...)
}

// object returns a new version of an object.
func (u *usage) object(of askedOf, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": of.kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"colour": oneOf(colours...)}},
	}}
	object.SetNamespace(namespace)
	filling := strings.Repeat("x", rand.IntN(50))
	if u.large && rand.IntN(5) == 0 {
		filling = strings.Repeat("x", rand.IntN(60_000))
	}
	object.SetAnnotations(map[string]string{"filling": filling})
	if rand.IntN(10) == 0 {
		object.SetFinalizers([]string{"example.com/one"})
	}
	switch of.kind {
	case "Pod":
		object.Object["spec"] = map[string]any{"nodeName": oneOf("n1", "n2", ""), "containers": []any{}}
	case "Event":
		object.Object["involvedObject"] = map[string]any{"kind": "Pod", "name": name, "namespace": namespace}
	case "Gadget":
		object.Object["spec"] = map[string]any{"size": rand.Int64N(10)}
	}
	return object
}

// write creates, changes and deletes objects.
func (u *usage) write(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for !u.over(ctx) {
		of := u.of()
		namespace, name := of.namespace(), oneOf(names...)
		objects := client.Resource(of.GroupVersionResource).Namespace(namespace)
		made, what := u.object(of, namespace, name), ""
		var result *unstructured.Unstructured
		switch rand.IntN(12) {
		case 0, 1, 2:
			what = "create"
			result, err = objects.Create(ctx, made, metav1.CreateOptions{})
		case 3, 4:
			what = "update"
			if rand.IntN(5) == 0 {
				what = "update unread"
				result, err = objects.Update(ctx, made, metav1.UpdateOptions{}) // some resources allow creation by update
				break
			}
			var have *unstructured.Unstructured
			if have, err = objects.Get(ctx, name, metav1.GetOptions{}); err == nil {
				switch rand.IntN(4) {
				case 0: // nothing changes
				case 1:
					have.SetFinalizers(nil)
				default:
					have.SetLabels(made.GetLabels())
					have.SetAnnotations(made.GetAnnotations())
				}
				if rand.IntN(5) == 0 {
					have.SetResourceVersion("") // unconditionally
				}
				result, err = objects.Update(ctx, have, metav1.UpdateOptions{})
			}
		case 5, 6:
			what = "patch"
			patch := fmt.Sprintf(`{"metadata":{"labels":{"colour":%q}}}`, oneOf(colours...))
			result, err = objects.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		case 7:
			what = "apply"
			made.SetFinalizers(nil)
			result, err = objects.Apply(ctx, name, made, metav1.ApplyOptions{FieldManager: oneOf("one", "two"), Force: rand.IntN(2) == 0})
		case 8:
			what = "write the status"
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"seen":"%d"}},"status":{"seen":%d}}`, rand.IntN(10), rand.IntN(10))
			if of.kind != "Gadget" {
				continue
			}
			result, err = objects.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		case 9, 10:
			what = "delete"
			options := metav1.DeleteOptions{}
			if rand.IntN(3) == 0 {
				options.Preconditions = &metav1.Preconditions{ResourceVersion: ptr.To(u.version(of))}
			}
			err = objects.Delete(ctx, name, options)
		default:
			if rand.IntN(4) > 0 {
				continue
			}
			what = "delete a collection"
			err = objects.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: oneOf("", "colour=red"), Limit: oneOf[int64](0, 0, 2)})
		}
		if err == nil {
			version := ""
			if result != nil {
				version = result.GetResourceVersion()
			}
			u.learn(of, version, what)
		}
	}
	return wait(ctx)
}

// wait keeps a program running, as one that returns is restarted.
func wait(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// encoding draws an Accept header.
func (of askedOf) encoding() string {
	all := []string{
		"application/json", "application/json",
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
		"application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
		"application/cbor,application/json",
	}
	if !of.custom {
		all = append(all, "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json")
	}
	return oneOf(all...)
}

// path is the URL path of a resource's objects, in a namespace or in all.
func (of askedOf) path() string {
	path := "/api/v1"
	if of.Group != "" {
		path = "/apis/" + of.GroupVersion().String()
	}
	if !of.global && rand.IntN(2) == 0 {
		path += "/namespaces/" + oneOf(namespaces...)
	}
	return path + "/" + of.Resource
}

// selectors adds selectors to a query with a probability of one half.
func (of askedOf) selectors(query url.Values) {
	if rand.IntN(3) == 0 {
		query.Set("labelSelector", oneOf("colour=red", "colour!=red", "colour in (red,blue)", "!colour"))
	}
	if rand.IntN(4) == 0 {
		field := "metadata.name=" + oneOf(names...)
		if of.kind == "Pod" {
			field = oneOf(field, "spec.nodeName=n1", "spec.nodeName=", "spec.nodeName!=n1,metadata.namespace=default")
		}
		query.Set("fieldSelector", field)
	}
}

// get sends a request. The caller must read and close the answer.
func get(ctx context.Context, client *http.Client, config *rest.Config, path, accept string, query url.Values) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		err = fmt.Errorf("answered with %s", response.Status)
	}
	return response, err
}

// told is what a client read of an answer.
type told struct {
	Metadata struct{ ResourceVersion, Continue string }
	Object   struct {
		Metadata struct{ ResourceVersion string }
	}
}

// read gets and lists objects.
func (u *usage) read(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for !u.over(ctx) {
		of := u.of()
		path, query, accept, what := of.path(), url.Values{}, of.encoding(), "list"
		switch rand.IntN(6) {
		case 0, 1:
		case 2:
			query.Set("resourceVersion", "0")
		default:
			query.Set("resourceVersion", u.version(of))
			if match := oneOf("", "Exact", "NotOlderThan"); match != "" {
				query.Set("resourceVersionMatch", match)
				what += " " + match
			}
		}
		if strings.Contains(path, "/namespaces/") && rand.IntN(3) == 0 {
			path, what = path+"/"+oneOf(names...), "get"
			query.Del("resourceVersionMatch")
			accept = strings.ReplaceAll(accept, "MetadataList", "Metadata")
		} else {
			of.selectors(query)
			if limit := oneOf(0, 0, 1, 3); limit > 0 {
				query.Set("limit", strconv.Itoa(limit))
				what += " in pages"
			}
		}
		for page := 0; page < 20; page++ {
			response, err := get(ctx, client, config, path, accept, query)
			if err != nil {
				break
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			var answer told
			if err != nil || json.Unmarshal(text, &answer) != nil {
				break // not JSON, or truncated
			}
			u.learn(of, answer.Metadata.ResourceVersion, what)
			if answer.Metadata.Continue == "" {
				break
			}
			query.Set("continue", answer.Metadata.Continue)
			query.Del("resourceVersion")
			query.Del("resourceVersionMatch")
			if u.over(ctx) {
				break
			}
		}
	}
	return wait(ctx)
}

// watch watches objects, from anywhere, and resumes where a watch has ended with a probability of one half.
func (u *usage) watch(ctx context.Context, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for !u.over(ctx) {
		of := u.of()
		path, query, accept, what := of.path(), url.Values{"watch": {"true"}}, of.encoding(), "watch"
		accept = strings.ReplaceAll(accept, "MetadataList", "Metadata")
		switch rand.IntN(5) {
		case 0:
		case 1:
			query.Set("resourceVersion", "0")
		default:
			query.Set("resourceVersion", u.version(of))
		}
		if rand.IntN(2) == 0 {
			query.Set("allowWatchBookmarks", "true")
			if rand.IntN(2) == 0 {
				query.Set("sendInitialEvents", "true")
				query.Set("resourceVersionMatch", "NotOlderThan")
				what += " from a list"
			}
		}
		if seconds := oneOf(0, 1, 5, 30); seconds > 0 {
			query.Set("timeoutSeconds", strconv.Itoa(seconds))
		}
		of.selectors(query)
		for range 1 + rand.IntN(4) {
			last := u.follow(ctx, client, config, of, path, accept, what, query)
			if last == "" {
				break
			}
			query.Set("resourceVersion", last)
			query.Del("sendInitialEvents")
			query.Del("resourceVersionMatch")
			what = "watch again"
		}
	}
	return wait(ctx)
}

// follow reads a watch until it ends or for a time, and returns the last resourceVersion.
func (u *usage) follow(ctx context.Context, client *http.Client, config *rest.Config, of askedOf, path, accept, what string, query url.Values) (last string) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.ExpFloat64()*float64(5*time.Second)))
	defer cancel()
	response, err := get(ctx, client, config, path, accept, query)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		_, _ = io.Copy(io.Discard, response.Body)
		return ""
	}
	lines, slow := bufio.NewReader(response.Body), oneOf(0, 0, time.Second)
	for {
		line, err := lines.ReadBytes('\n')
		var event told
		if err != nil || json.Unmarshal(line, &event) != nil {
			return last
		}
		if version := event.Object.Metadata.ResourceVersion; version != "" && version != last {
			last = version
			u.learn(of, last, what)
		}
		time.Sleep(slow)
	}
}
