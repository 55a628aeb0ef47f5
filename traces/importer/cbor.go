package importer

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

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
