package simtest

import (
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// encryption is how the API servers of a cluster encrypt what they store.
type encryption interface {
	// Encrypt has all servers encrypt some resources, which they do after the returned time; Rotate has the key management service encrypt with another key.
	Encrypt(resources ...string) (within time.Duration, err error)
	Rotate()
	// Hang says whether an outage of the service lets servers wait, instead of answering them with an error.
	Hang(silent bool)
	// Missed reports whether an outage of the service has kept a server from decrypting anything.
	Missed() bool
}

// encryption fails the test if the API servers do not encrypt.
func (c *Cluster) encryption() encryption {
	c.t.Helper()
	if c.booted.Encryption() == nil {
		c.t.Fatal("expected API servers that encrypt, found Config.KMS unset, or a Config.Cache of which they do not")
	}
	return c.booted.Encryption()
}

// Encrypt has all API servers encrypt some resources, such as secrets, deployments.apps or *.* for all,
// and returns when they do; none has them encrypt nothing. It needs Config.KMS, and no faults.
func (c *Cluster) Encrypt(resources ...string) {
	c.t.Helper()
	within, err := c.encryption().Encrypt(resources...)
	if err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(within)
}

// KeyMissed reports whether an outage of the key management service has kept an API server from decrypting
// anything in this run.
func (c *Cluster) KeyMissed() bool {
	c.t.Helper()
	return c.encryption().Missed()
}

// encryptable are what the servers of a run encrypt: what clusters usually do, or all.
var encryptable = [][]string{{"secrets"}, {"secrets", "configmaps"}, {"*.*"}}

// maxChanges is how often the key changes at most while things go wrong.
const maxChanges = 3

// drawnEncryption is what a seed decides about encryption at rest.
type drawnEncryption struct {
	// Resources are what the servers encrypt, none for half of the seeds.
	Resources []string
	// Silent says that an outage of the key management service lets servers wait.
	Silent bool
	// Changes are when its key changes.
	Changes []time.Duration
}

// encryptions draws from one number, so that a failure is soon as simple as can be. 0 encrypts nothing. Small ones are
// more likely, but each is as good as any.
func encryptions(within time.Duration) *rapid.Generator[drawnEncryption] {
	return rapid.Map(rapid.Uint64(), func(number uint64) (e drawnEncryption) {
		random := rand.New(rand.NewPCG(number, 0))
		if random.IntN(2) == 0 || number == 0 {
			return e
		}
		e.Resources, e.Silent = encryptable[random.IntN(len(encryptable))], random.IntN(2) == 0
		for range random.IntN(maxChanges + 1) {
			e.Changes = append(e.Changes, time.Duration(random.Int64N(int64(within))).Round(time.Millisecond))
		}
		slices.Sort(e.Changes)
		return e
	})
}

// EncryptAtRest draws whether the API servers encrypt what they store, which resources, how an outage of
// the key management service shows, and when its key changes within the given time from now on. It is
// called before Faults, and needs Config.KMS.
func (c *Cluster) EncryptAtRest(within time.Duration) {
	c.t.Helper()
	drawn, at := Draw(c.t, encryptions(within), "encryption at rest"), c.encryption()
	if len(drawn.Resources) == 0 {
		return
	}
	at.Hang(drawn.Silent)
	c.Encrypt(drawn.Resources...)
	began := time.Now()
	go func() {
		for _, change := range drawn.Changes {
			time.Sleep(time.Until(began.Add(change)))
			at.Rotate()
		}
	}()
}
