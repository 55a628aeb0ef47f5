package controlplane

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim/simdisk"
	"github.com/watchsim/watchsim/simtest"
)

// The KMS provider of the servers: its name, and with what the values begin that it encrypts.
const (
	kmsProvider     = "watchsim"
	encryptedPrefix = "k8s:enc:kms:v2:" + kmsProvider + ":"
)

// everything is all resources, in a configuration of encryption.
const everything = "*.*"

// atRest is what the servers encrypt.
var atRest encryption

// encryption is the configuration of encryption at rest, of which each server has a file.
type encryption struct {
	mu        sync.Mutex
	resources []string
	servers   []string // those that have a file
}

// configure writes the file of a server that starts, and returns its path.
func (e *encryption) configure(server string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.servers, server) {
		e.servers = append(e.servers, server)
	}
	return e.path(server), e.write(server)
}

// encrypt writes the files of all servers.
func (e *encryption) encrypt(resources ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resources = resources
	for _, server := range e.servers {
		if err := e.write(server); err != nil {
			return err
		}
	}
	return nil
}

func (*encryption) path(server string) string {
	return simdisk.Root + "/encryption-" + server + ".yaml"
}

// pluginAddress is the socket at which the KMS plugin of a server listens.
func pluginAddress(server string) string { return "@kms-" + server }

// write writes the file of a server. As the documentation of Kubernetes advises for several
// servers, each can read what is encrypted before any of them encrypts: until they are told to
// encrypt, the provider of plain text comes first, and writes.
func (e *encryption) write(server string) error {
	providers := []string{"identity: {}", fmt.Sprintf(
		"kms: {apiVersion: v2, name: %s, endpoint: 'unix:///%s', timeout: 3s}", kmsProvider, pluginAddress(server))}
	resources := e.resources
	if len(resources) == 0 {
		resources = []string{everything}
	} else {
		slices.Reverse(providers)
	}
	return os.WriteFile(e.path(server), fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ['%s']
  providers:
  - %s
`, strings.Join(resources, "', '"), strings.Join(providers, "\n  - ")), 0o600)
}

// Encrypt has all servers encrypt some resources, such as secrets, deployments.apps or *.*; none
// has them go on as they began, which is to encrypt nothing. It takes them some seconds to see it.
func Encrypt(resources ...string) error { return atRest.encrypt(resources...) }

// KeyMissed reports whether an outage of the key management service has kept a server from decrypting
// anything in this run.
func KeyMissed() bool { return keys.missed.Load() > 0 }

// reloadPeriod is how often servers look at their configurations of encryption. Outside of tests
// it is a minute, as long as a run.
const reloadPeriod = 5 * time.Second

// encryptable are what the servers of a run encrypt: what clusters usually do, or all.
var encryptable = [][]string{{"secrets"}, {"secrets", "configmaps"}, {everything}}

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

// encryptions draws from random bits, as rapid prefers small numbers.
func encryptions(within time.Duration) *rapid.Generator[drawnEncryption] {
	return rapid.Map(rapid.SliceOfN(rapid.Bool(), 32, 32), func(bits []bool) (e drawnEncryption) {
		var number uint64
		for i, bit := range bits {
			if bit {
				number |= 1 << i
			}
		}
		random := rand.New(rand.NewPCG(number, 0))
		if random.IntN(2) == 0 {
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

// EncryptAtRest draws whether the servers encrypt what they store, which resources, how an outage of
// the key management service shows, and when its key changes within the given time from now on.
//
// Each server makes a key of its own for what it writes, which the service encrypts: when it
// starts, and when it sees that the service's key has changed. For what others have written, it
// asks the service once for each of their keys.
func EncryptAtRest(t *simtest.T, within time.Duration) {
	t.Helper()
	drawn := simtest.Draw(t, encryptions(within), "encryption at rest")
	if len(drawn.Resources) == 0 {
		return
	}
	keys.silent.Store(drawn.Silent)
	if err := Encrypt(drawn.Resources...); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * reloadPeriod)
	began := time.Now()
	go func() {
		for _, at := range drawn.Changes {
			time.Sleep(time.Until(began.Add(at)))
			keys.rotate()
		}
	}()
}
