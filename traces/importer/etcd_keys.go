package importer

import (
	"strings"

	"github.com/watchsim/watchsim/model"
)

// definitions is the resource of the definitions of custom resources.
const definitions = "customresourcedefinitions.apiextensions.k8s.io"

// storedElsewhere are the resources that Kubernetes stores under another name.
var storedElsewhere = map[string]string{
	"services":                           "services/specs",
	"endpoints":                          "services/endpoints",
	"nodes":                              "minions",
	"replicationcontrollers":             "controllers",
	"podsecuritypolicies.policy":         "podsecuritypolicy",
	"ingresses.networking.k8s.io":        "ingress",
	"ingressclasses.networking.k8s.io":   "ingressclasses",
	definitions:                          "apiextensions.k8s.io/customresourcedefinitions",
	"apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
}

// etcdPrefixes returns the possible parts of a key between the root and the namespace of
// an object of a resource such as pods or widgets.example.com. Built-in types are stored
// under their name, custom ones under their group and name. The groups of Kubernetes
// itself have no dot, or end in k8s.io.
func etcdPrefixes(resource string) []string {
	if under, is := storedElsewhere[resource]; is {
		return []string{under}
	}
	name, group, _ := strings.Cut(resource, ".")
	switch {
	case group == "":
		return []string{name}
	case strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io"):
		return []string{group + "/" + name}
	}
	return []string{group + "/" + name, name}
}

// keyOf parses NAMESPACE/NAME or NAME at the end of a key, after one of the prefixes;
// false if the key has none of them.
func keyOf(key string, prefixes []string) (model.Key, bool) {
	for _, prefix := range prefixes {
		_, rest, _ := strings.Cut(key, "/"+prefix+"/")
		namespace, name, namespaced := strings.Cut(rest, "/")
		if !namespaced {
			namespace, name = "", rest
		}
		if name != "" && !strings.Contains(name, "/") && namespaced == (namespace != "") {
			return model.Key{Namespace: namespace, Name: name}, true
		}
	}
	return model.Key{}, false
}
