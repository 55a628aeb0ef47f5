package simtest

import (
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// encryption is the API servers' encryption at rest.
type encryption interface {
	// Encrypt has all servers encrypt these resources within the returned time; Rotate changes the service's key.
	Encrypt(resources ...string) (within time.Duration, err error)
	Rotate()
	// Hang sets whether servers hang during an outage of the service, instead of getting an error.
	Hang(silent bool)
	// Missed reports whether an outage of the service made any decryption fail.
	Missed() bool
}

// encryption fails the test if the API servers cannot encrypt.
func (c *Cluster) encryption() encryption {
	c.t.Helper()
	if c.booted.Encryption() == nil {
		c.t.Fatal("expected API servers that encrypt, found Config.KMS unset, or a Config.Cache of which they do not")
	}
	return c.booted.Encryption()
}

// Encrypt has all API servers encrypt these resources, such as secrets, deployments.apps or *.* for all, and
// returns when it has taken effect; no argument turns encryption off. It needs Config.KMS, and no faults.
func (c *Cluster) Encrypt(resources ...string) {
	c.t.Helper()
	within, err := c.encryption().Encrypt(resources...)
	if err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(within)
}

// KeyMissed reports whether an outage of the key management service made any decryption fail in this run.
func (c *Cluster) KeyMissed() bool {
	c.t.Helper()
	return c.encryption().Missed()
}

// encryptable are the resources that a run may encrypt: the usual ones, or all.
var encryptable = [][]string{{"secrets"}, {"secrets", "configmaps"}, {"*.*"}}

// maxChanges is how often the key changes at most during the faults.
const maxChanges = 3

// drawnEncryption is what a seed decides about encryption at rest.
type drawnEncryption struct {
	// Resources are the encrypted resources, none for half of the seeds.
	Resources []string
	// Silent says that servers hang during an outage of the key management service.
	Silent bool
	// Changes are the times of its key rotations.
	Changes []time.Duration
}

// encryptions draws from one number, so that rapid simplifies it quickly. 0 encrypts nothing. Small numbers are more
// likely, but none is a better choice than another.
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

// EncryptAtRest draws whether the API servers encrypt, which resources, how an outage of the key
// management service shows, and when its key is rotated within the given time from now. Call it before
// Faults. It needs Config.KMS.
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
