package httpserver

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	kms "k8s.io/kms/pkg/service"
)

// keyService is the key management service of a cluster: all servers share it, each through a plugin of
// its own. Its keys encrypt the servers' data keys. There is always a next one, and none is forgotten.
type keyService struct {
	current atomic.Int64 // the number of the current key
	silent  atomic.Bool  // in an outage callers hang instead of getting an error
	missed  atomic.Int64 // how many requests to decrypt have failed because of an outage
}

// rotate switches to the next key.
func (k *keyService) rotate() { k.current.Add(1) }

// currentID is the name of the current key.
func (k *keyService) currentID() string { return fmt.Sprintf("key-%d", k.current.Load()) }

// sealing returns the cipher of a key. It is derived from the key's name, since nobody attacks a
// simulation, and stored values are read after the end of its world.
func sealing(id string) (cipher.AEAD, error) {
	key := sha256.Sum256([]byte(id))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal encrypts with a key.
func seal(id string, plain []byte) ([]byte, error) {
	with, err := sealing(id)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, with.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return with.Seal(nonce, nonce, plain, nil), nil
}

// open decrypts what seal has encrypted with a key.
func open(id string, sealed []byte) ([]byte, error) {
	with, err := sealing(id)
	if err != nil {
		return nil, err
	}
	if len(sealed) < with.NonceSize() {
		return nil, fmt.Errorf("expected at least %d bytes that %s has encrypted, found %d", with.NonceSize(), id, len(sealed))
	}
	return with.Open(nil, sealed[:with.NonceSize()], sealed[with.NonceSize():], nil)
}

// kmsPlugin is a server's KMS plugin, through which it reaches the keys. It implements kms.Service.
type kmsPlugin struct {
	keys *keyService
	// out reports whether it cannot reach the keys.
	out func() bool
}

// outagePoll is how often a waiting call checks for the end of an outage.
const outagePoll = 100 * time.Millisecond

// errOutage is the plugin's error while it cannot reach the keys.
var errOutage = errors.New("the key management service is unreachable, on purpose")

// reach returns an error while the keys are unreachable, at once or when ctx is done.
func (p kmsPlugin) reach(ctx context.Context) error {
	for p.out() {
		if !p.keys.silent.Load() {
			return errOutage
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(outagePoll):
		}
	}
	return nil
}

func (p kmsPlugin) Status(ctx context.Context) (*kms.StatusResponse, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	return &kms.StatusResponse{Version: "v2", Healthz: "ok", KeyID: p.keys.currentID()}, nil
}

func (p kmsPlugin) Encrypt(ctx context.Context, _ string, plain []byte) (*kms.EncryptResponse, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	id := p.keys.currentID()
	sealed, err := seal(id, plain)
	if err != nil {
		return nil, err
	}
	return &kms.EncryptResponse{Ciphertext: sealed, KeyID: id}, nil
}

func (p kmsPlugin) Decrypt(ctx context.Context, _ string, request *kms.DecryptRequest) ([]byte, error) {
	if err := p.reach(ctx); err != nil {
		p.keys.missed.Add(1)
		return nil, err
	}
	return open(request.KeyID, request.Ciphertext)
}
