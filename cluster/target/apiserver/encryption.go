package apiserver

import (
	"bytes"
	"context"
	"crypto/aes"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/storage/value"
	encryptaes "k8s.io/apiserver/pkg/storage/value/encrypt/aes"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/model"
)

// encryptedPrefix begins the values of kube-apiserver's provider aesgcm; the name of the key
// follows.
const encryptedPrefix = "k8s:enc:aesgcm:v1:"

// keyCount is how many keys a configuration with rotation has. After as many restarts, a server
// writes with its first key again.
const keyCount = 3

// newTransformer returns the transformer with which a server stores values.
func newTransformer(config target.ServerConfig) (value.Transformer, error) {
	switch config.Tuning.Encryption {
	case "":
		return identity.NewEncryptCheckTransformer(), nil
	case target.EncryptionAES:
		return encryptingWith(0)
	case target.EncryptionRotating:
		return encryptingWith(config.Restarts % keyCount)
	}
	return nil, fmt.Errorf("expected the encryption %s or %s, found %q", target.EncryptionAES, target.EncryptionRotating, config.Tuning.Encryption)
}

// encryptingWith returns a transformer that writes with one key and reads with all, as
// kube-apiserver makes it from an EncryptionConfiguration whose provider aesgcm lists that
// key first. A value that has another key is stale: the next update writes it again, even
// if it changes nothing.
func encryptingWith(first int) (value.Transformer, error) {
	var keys []value.PrefixTransformer
	for i := range keyCount {
		number := byte((first + i) % keyCount)
		block, err := aes.NewCipher(bytes.Repeat([]byte{number}, 32)) // the key is no secret: nobody attacks a simulation
		if err != nil {
			return nil, err
		}
		key, err := encryptaes.NewGCMTransformer(block)
		if err != nil {
			return nil, err
		}
		keys = append(keys, value.PrefixTransformer{Prefix: fmt.Appendf(nil, "key%d:", number), Transformer: key})
	}
	return value.NewPrefixTransformers(errors.New("no key of the configuration has encrypted this value"),
		value.PrefixTransformer{Prefix: []byte(encryptedPrefix), Transformer: value.NewPrefixTransformers(nil, keys...)}), nil
}

// Decode decrypts what is encrypted, with whichever key.
func (apiserverTarget) Decode(key string, stored []byte) (model.Object, error) {
	if !bytes.HasPrefix(stored, []byte(encryptedPrefix)) {
		return registry.Decode(key, stored)
	}
	transformer, err := encryptingWith(0)
	if err != nil {
		return model.Object{}, err
	}
	plain, _, err := transformer.TransformFromStorage(context.Background(), stored, value.DefaultContext(key))
	if err != nil {
		return model.Object{}, fmt.Errorf("decrypt %s: %w", key, err)
	}
	return registry.Decode(key, plain)
}
