package httpserver

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	kms "k8s.io/kms/pkg/service"
)

// Values of one key can be decrypted after a rotation, but with no other key.
func TestKeysChange(t *testing.T) {
	service := &keyService{}
	plugin := kmsPlugin{keys: service, out: func() bool { return false }}
	before, err := plugin.Encrypt(t.Context(), "", []byte("plain"))
	require.NoError(t, err)
	service.rotate()
	after, err := plugin.Encrypt(t.Context(), "", []byte("plain"))
	require.NoError(t, err)
	status, err := plugin.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, after.KeyID, status.KeyID)
	require.NotEqual(t, before.KeyID, after.KeyID)
	for name, test := range map[string]struct {
		key    string
		sealed []byte
		opens  bool
	}{
		"the first key":    {before.KeyID, before.Ciphertext, true},
		"the second key":   {after.KeyID, after.Ciphertext, true},
		"another key":      {after.KeyID, before.Ciphertext, false},
		"too few bytes":    {after.KeyID, after.Ciphertext[:3], false},
		"not what it was":  {after.KeyID, append([]byte{1}, after.Ciphertext...), false},
		"nothing whatever": {after.KeyID, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			plain, err := plugin.Decrypt(t.Context(), "", &kms.DecryptRequest{KeyID: test.key, Ciphertext: test.sealed})
			require.Equal(t, test.opens, err == nil, "%v", err)
			require.Equal(t, test.opens, string(plain) == "plain")
		})
	}
}

// An outage shows as an error at once, or as a hanging call until the caller gives up or it ends.
func TestOutages(t *testing.T) {
	for name, test := range map[string]struct {
		silent        bool
		patience, out time.Duration
		err           error
		took          time.Duration
	}{
		"an error":         {false, time.Second, time.Minute, errOutage, 0},
		"silence":          {true, time.Second, time.Minute, context.DeadlineExceeded, time.Second},
		"a short silence":  {true, time.Minute, time.Second, nil, time.Second},
		"nothing is wrong": {true, time.Second, 0, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out atomic.Bool
				out.Store(test.out > 0)
				time.AfterFunc(test.out, func() { out.Store(false) })
				service := &keyService{}
				service.silent.Store(test.silent)
				ctx, cancel := context.WithTimeout(t.Context(), test.patience)
				defer cancel()
				plugin, began := kmsPlugin{keys: service, out: out.Load}, time.Now()
				_, err := plugin.Status(ctx)
				require.ErrorIs(t, err, test.err)
				require.InDelta(t, test.took, time.Since(began), float64(outagePoll))
			})
		})
	}
}
