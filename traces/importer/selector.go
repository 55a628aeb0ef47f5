package importer

import (
	"fmt"
	"strings"
)

// parseSelectors parses what package model can represent: equalities of labels, of
// spec.nodeName, and of the name and namespace.
func (r *Request) parseSelectors(labels, fields string) error {
	for _, requirement := range requirements(labels) {
		name, value, isEquality := equality(requirement)
		if !isEquality {
			return fmt.Errorf("%w: its label selector has %.100q, and only equalities are supported", ErrUnsupported, requirement)
		}
		if before, twice := r.Selector.Labels[name]; twice && before != value {
			return fmt.Errorf("%w: its label selector requires two values of %.100q", ErrUnsupported, name)
		}
		if r.Selector.Labels == nil {
			r.Selector.Labels = map[string]string{}
		}
		r.Selector.Labels[name] = value
	}
	for _, requirement := range requirements(fields) {
		field, value, isEquality := equality(requirement)
		var into *string
		switch field {
		case "metadata.name":
			into = &r.Scope.Name
			r.NameSelected = r.Scope.Name == "" || r.NameSelected
		case "metadata.namespace":
			into = &r.Scope.Namespace
		case "spec.nodeName":
			into = &r.Selector.Node
		}
		// An empty value selects objects without one, which a history cannot represent.
		if !isEquality || into == nil || value == "" || *into != "" && *into != value {
			return fmt.Errorf("%w: its field selector has %.100q", ErrUnsupported, requirement)
		}
		*into = value
	}
	return nil
}

func requirements(selector string) []string {
	if strings.TrimSpace(selector) == "" {
		return nil
	}
	return strings.Split(selector, ",")
}

// equality parses a=b or a==b.
func equality(requirement string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(strings.TrimSpace(requirement), "=")
	value = strings.TrimPrefix(value, "=")
	if !ok || strings.ContainsAny(name, "!() ") || strings.ContainsAny(value, "=() \\") || name == "" {
		return "", "", false
	}
	return name, value, true
}
