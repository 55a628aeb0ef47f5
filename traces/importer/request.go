package importer

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
)

// ErrUnsupported means that a request is valid but has something that a history cannot
// represent, such as a selector with "in".
var ErrUnsupported = errors.New("a history cannot represent the request")

// Request is what a path and its query request.
type Request struct {
	// Resource is as for kubectl: pods, or deployments.apps.
	Resource    string
	Subresource string
	Scope       model.Scope
	Selector    model.Selector
	// NameSelected says that the name in the scope is that of a field selector, so that
	// the request is for a collection.
	NameSelected bool
	// RV is the requested resourceVersion, [model.RVUnset] for none.
	RV       int64
	Match    model.Match
	Limit    int64
	Continue string
	Watch    bool
	// Bookmarks, InitialEvents and Timeout, in nanoseconds, are those of a watch.
	Bookmarks, InitialEvents bool
	Timeout                  int64
	// DryRun says that the request has dryRun.
	DryRun bool
}

// parseURI parses the path and query of a request. The second result is false if it
// is not about objects of a resource, such as discovery and health checks.
func parseURI(uri string) (Request, bool, error) {
	parsed, err := url.ParseRequestURI(uri)
	if err != nil {
		return Request{}, false, fmt.Errorf("expected the path and query of a request, found %.200q", uri)
	}
	return ParseURL(parsed)
}

// ParseURL is [parseURI] for a URL.
func ParseURL(u *url.URL) (Request, bool, error) {
	r, isResource := parsePath(u.Path)
	if !isResource {
		return r, false, nil
	}
	return r, true, r.parseQuery(u.Query())
}

// parsePath parses /api/v1/... and /apis/GROUP/VERSION/...
func parsePath(path string) (Request, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	default:
		return Request{}, false
	}
	r := Request{RV: model.RVUnset}
	if parts[0] == "watch" && len(parts) > 1 { // the deprecated path of watches
		r.Watch, parts = true, parts[1:]
	}
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" { // subresources of a namespace
		r.Scope.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = parts[0] + group
	if len(parts) > 1 {
		r.Scope.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = strings.Join(parts[2:], "/")
	}
	return r, parts[0] != ""
}

func (r *Request) parseQuery(query url.Values) error {
	flag := func(name string) bool { return query.Get(name) == "true" || query.Get(name) == "1" }
	r.Watch = r.Watch || flag("watch")
	r.Bookmarks, r.InitialEvents = flag("allowWatchBookmarks"), flag("sendInitialEvents")
	r.Continue, r.DryRun = query.Get("continue"), query.Get("dryRun") != ""
	switch match := model.Match(query.Get("resourceVersionMatch")); match {
	case model.MatchUnset, model.MatchExact, model.MatchNotOlderThan:
		r.Match = match
	default:
		return fmt.Errorf("expected a resourceVersionMatch of Exact or NotOlderThan, found %.50q", match)
	}
	if text := query.Get("resourceVersion"); text != "" {
		rv, err := parseRV(text)
		if err != nil {
			return err
		}
		r.RV = rv
	}
	var err error
	if r.Limit, err = natural(query, "limit"); err != nil {
		return err
	}
	seconds, err := natural(query, "timeoutSeconds")
	if err != nil {
		return err
	}
	r.Timeout = int64(time.Duration(min(seconds, maxSeconds)) * time.Second)
	return r.parseSelectors(query.Get("labelSelector"), query.Get("fieldSelector"))
}

// maxSeconds is the longest timeout; longer ones are cut to it.
const maxSeconds = 1_000_000_000

// natural parses a parameter that is a number from 0 on.
func natural(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < 0 {
		return 0, fmt.Errorf("expected the parameter %s to be a number from 0 on, found %.50q", name, text)
	}
	return number, nil
}

// parseRV parses a resourceVersion. Kubernetes guarantees since release 1.35 that it is a
// number, and it has always been one where etcd stores the objects.
func parseRV(text string) (int64, error) {
	rv, err := strconv.ParseInt(text, 10, 64)
	if err != nil || rv < 0 {
		return 0, fmt.Errorf("expected a resourceVersion that is a number of at most 63 bits, found %.50q", text)
	}
	return rv, nil
}
