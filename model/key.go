package model

import (
	"maps"
	"strings"
)

// Key identifies an object within its resource. Two objects may have the same
// key one after the other; their UIDs tell them apart.
type Key struct {
	Namespace string
	Name      string
}

// Key returns the object's identity.
func (o *Object) Key() Key { return Key{Namespace: o.Namespace, Name: o.Name} }

// String returns the key as etcd stores it below the resource's prefix. A
// cluster-scoped object has no namespace and no slash.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys as etcd does: by the bytes of String. That is not the
// order of (namespace, name) pairs, because '-' and '.' sort before '/':
// "team-a/x" comes before "team/x".
func (k Key) Compare(other Key) int {
	if k.Namespace == other.Namespace {
		return strings.Compare(k.Name, other.Name)
	}
	return strings.Compare(k.String(), other.String())
}

// Equal reports whether two states of an object are the same in every field.
func (o *Object) Equal(other *Object) bool {
	if o == other || o == nil || other == nil {
		return o == other
	}
	return o.RV == other.RV && o.Value == other.Value && o.Name == other.Name && o.Namespace == other.Namespace &&
		o.Node == other.Node && o.UID == other.UID && maps.Equal(o.Labels, other.Labels)
}
