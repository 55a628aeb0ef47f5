package importer

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// cborMagic is how values in etcd begin that Kubernetes encodes with CBOR: the tag of RFC 8949 for what describes itself.
var cborMagic = []byte{0xd9, 0xd9, 0xf7}

// cborOfKubernetes decodes as Kubernetes does (k8s.io/apimachinery/pkg/runtime/serializer/cbor), which writes text as byte strings.
var cborOfKubernetes, _ = cbor.DecOptions{
	DefaultMapType: reflect.TypeFor[map[string]any](), DefaultByteStringType: reflect.TypeFor[string](), MaxNestedLevels: 10_000,
	ByteStringToString: cbor.ByteStringToStringAllowedWithExpectedLaterEncoding, UnrecognizedTagToAny: cbor.UnrecognizedTagContentToAny,
}.DecMode()

// FromCBOR translates an object, a list or a watch event into what Kubernetes would have written as JSON.
func FromCBOR(body []byte) ([]byte, error) {
	var object map[string]any
	if err := cborOfKubernetes.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("expected CBOR, found %w", err)
	}
	return json.Marshal(object)
}
