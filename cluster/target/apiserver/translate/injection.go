package translate

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/watchsim/watchsim/cluster/target"
)

// The errors of injected failures.
var (
	errTransform = errors.New("this value cannot be decrypted, on purpose")
	errDecode    = errors.New("this value cannot be decoded, on purpose")
)

// FaultyTransformer is a transformer that fails to read stored values while Injection
// says so, as when the key provider of encryption at rest is unreachable.
type FaultyTransformer struct {
	value.Transformer
	Injection *target.Injection
}

// TransformFromStorage implements value.Transformer.
func (t FaultyTransformer) TransformFromStorage(ctx context.Context, data []byte, of value.Context) ([]byte, bool, error) {
	if t.Injection.Transforming.Load() {
		return nil, false, errTransform
	}
	return t.Transformer.TransformFromStorage(ctx, data, of)
}

// FaultyCodec is a codec that fails to decode while Injection says so, as for objects
// of a version that the server does not know.
type FaultyCodec struct {
	runtime.Codec
	Injection *target.Injection
}

// Decode implements runtime.Decoder.
func (c FaultyCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.Injection.Decoding.Load() {
		return nil, nil, errDecode
	}
	return c.Codec.Decode(data, defaults, into)
}
