package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/watchsim/watchsim/model"
)

// protobufMagic is the prefix of values in etcd that Kubernetes encodes with protobuf.
var protobufMagic = []byte("k8s\x00")

// Stored reduces an object as stored in etcd. JSON, used for custom resources, is
// reduced in full, and so is CBOR. For protobuf, used for built-in types, only the metadata and a
// pod's node are read, because their fields have the same numbers in all types, and the
// content has no digest. Nor has that of built-in types in JSON (--storage-media-type), as an API server sets defaults whenever it reads them.
// The result is false if the value is encrypted or otherwise unreadable.
func (r Reducer) Stored(value []byte) (model.Object, bool) {
	if len(value) > 0 && value[0] == '{' {
		object, err := r.Object(value)
		if isBuiltIn(value) {
			object.Value = ""
		}
		return object, err == nil && object.Name != ""
	}
	if bytes.HasPrefix(value, cborMagic) {
		text, err := FromCBOR(value)
		if err != nil {
			return model.Object{}, false
		}
		return r.Stored(text)
	}
	envelope, is := bytes.CutPrefix(value, protobufMagic)
	if !is {
		return model.Object{}, false
	}
	// runtime.Unknown: 1 is the type, with the kind as 2; 2 is the object.
	kind := string(message(envelope).field(1).field(2))
	raw := message(envelope).field(2)
	// Every type has ObjectMeta as 1.
	meta := raw.field(1)
	object := model.Object{Name: string(meta.field(1)), Namespace: string(meta.field(3)), UID: string(meta.field(5))}
	meta.each(func(number protowire.Number, content message) {
		if number == 11 { // an entry of labels: 1 is the name, 2 the value
			if object.Labels == nil {
				object.Labels = map[string]string{}
			}
			object.Labels[string(content.field(1))] = string(content.field(2))
		}
	})
	if kind == "Pod" {
		object.Node = string(raw.field(2).field(10)) // spec.nodeName
	}
	return object, object.Name != ""
}

// isBuiltIn reports whether an object in JSON is of a built-in type: other groups than those of Kubernetes have a dot in their name, as definitions require.
func isBuiltIn(text []byte) bool {
	var of struct{ APIVersion string }
	if json.Unmarshal(text, &of) != nil || of.APIVersion == "" {
		return false
	}
	group, _, _ := strings.Cut(of.APIVersion, "/")
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// message is an encoded protobuf message. Broken fields read as absent.
type message []byte

// each calls a function for each field of bytes, up to the first broken field.
func (m message) each(do func(number protowire.Number, content message)) {
	for len(m) > 0 {
		number, kind, tag := protowire.ConsumeTag(m)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, m[tag:])
		if size < 0 {
			return
		}
		if kind == protowire.BytesType {
			content, _ := protowire.ConsumeBytes(m[tag:])
			do(number, content)
		}
		m = m[tag+size:]
	}
}

// field returns the last field of a number, as protobuf has it; nil if there is none.
func (m message) field(number protowire.Number) message {
	var found message
	m.each(func(n protowire.Number, content message) {
		if n == number {
			found = content
		}
	})
	return found
}

// cborMagic is the prefix of values in etcd that Kubernetes encodes with CBOR: the self-described tag of RFC 8949.
var cborMagic = []byte{0xd9, 0xd9, 0xf7}

// cborOfKubernetes decodes as Kubernetes does (k8s.io/apimachinery/pkg/runtime/serializer/cbor), which writes text as byte strings.
var cborOfKubernetes, _ = cbor.DecOptions{
	DefaultMapType: reflect.TypeFor[map[string]any](), DefaultByteStringType: reflect.TypeFor[string](), MaxNestedLevels: 10_000,
	ByteStringToString: cbor.ByteStringToStringAllowedWithExpectedLaterEncoding, UnrecognizedTagToAny: cbor.UnrecognizedTagContentToAny,
}.DecMode()

// FromCBOR translates an object, a list or a watch event into Kubernetes' JSON.
func FromCBOR(body []byte) ([]byte, error) {
	var object map[string]any
	if err := cborOfKubernetes.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("expected CBOR, found %w", err)
	}
	return json.Marshal(object)
}
