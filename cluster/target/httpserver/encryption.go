package httpserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/controller"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// The KMS provider of the servers: its name, and with what the values begin that it encrypts.
const (
	kmsProvider     = "watchsim"
	encryptedPrefix = "k8s:enc:kms:v2:" + kmsProvider + ":"
)

// reloadPeriod is how often servers look at their configurations of encryption. Outside of tests
// it is a minute, as long as a run.
const reloadPeriod = 5 * time.Second

func init() { controller.EncryptionConfigFileChangePollDuration = reloadPeriod }

// Encryption is the encryption at rest of a cluster's API servers. Each server has a file with its
// configuration, and beside it a KMS plugin, through which it reaches the key management service of
// all of them.
//
// Each server makes a key of its own for what it writes, which the service encrypts: when it
// starts, and when it sees that the service's key has changed. For what others have written, it
// asks the service once for each of their keys.
type Encryption struct {
	keys keyService

	mu        sync.Mutex
	offered   bool
	resources []string
	servers   []string // those that have a file
}

// Offer has servers that start from now on be able to encrypt. They begin by encrypting nothing.
func (e *Encryption) Offer() { e.offered = true }

// Configure sets the options of a server that starts, and starts its plugin, which is unplugged when the
// server has stopped. Without Offer it does nothing.
func (e *Encryption) Configure(config target.ServerConfig, options *genericoptions.EtcdOptions) (unplug func(), err error) {
	if !e.offered {
		return func() {}, nil
	}
	if unplug, err = e.keys.servePlugin(config.Name, config.Injection.Transforming.Load); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.servers, config.Name) {
		e.servers = append(e.servers, config.Name)
	}
	options.EncryptionProviderConfigFilepath, options.EncryptionProviderConfigAutomaticReload = fileOf(config.Name), true
	return unplug, e.write(config.Name)
}

// Encrypt has all servers encrypt some resources, such as secrets, deployments.apps or *.*; none has
// them go on as they began, which is to encrypt nothing. Unless something goes wrong, all of them have seen it after
// the returned time: it is two looks at their configurations, of which the first may have been under way.
func (e *Encryption) Encrypt(resources ...string) (within time.Duration, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resources = resources
	for _, server := range e.servers {
		if err := e.write(server); err != nil {
			return 0, err
		}
	}
	return 2 * reloadPeriod, nil
}

// Rotate has the key management service encrypt with another key.
func (e *Encryption) Rotate() { e.keys.rotate() }

// Hang says whether an outage of the key management service lets servers wait, instead of answering them with an error.
func (e *Encryption) Hang(silent bool) { e.keys.silent.Store(silent) }

// Missed reports whether an outage of the key management service has kept a server from decrypting anything.
func (e *Encryption) Missed() bool { return e.keys.missed.Load() > 0 }

// fileOf is the configuration of a server.
func fileOf(server string) string { return simdisk.Root + "/encryption-" + server + ".yaml" }

// everything is all resources, in a configuration of encryption.
const everything = "*.*"

// write writes the file of a server. As the documentation of Kubernetes advises for several
// servers, each can read what is encrypted before any of them encrypts: until they are told to
// encrypt, the provider of plain text comes first, and writes.
func (e *Encryption) write(server string) error {
	providers := []string{"identity: {}", fmt.Sprintf(
		"kms: {apiVersion: v2, name: %s, endpoint: 'unix:///%s', timeout: 3s}", kmsProvider, pluginAddress(server))}
	resources := e.resources
	if len(resources) == 0 {
		resources = []string{everything}
	} else {
		slices.Reverse(providers)
	}
	return os.WriteFile(fileOf(server), fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ['%s']
  providers:
  - %s
`, strings.Join(resources, "', '"), strings.Join(providers, "\n  - ")), 0o600)
}

// probePeriod is how often a kubelet asks whether a server is healthy.
const probePeriod = 10 * time.Second

// Probe asks whether a server reaches its key management service, which is part of whether it is ready, as a
// kubelet does and a load balancer, until ctx is done. That is also when the server sees that the key has
// changed. The transformers are those of the server, nil without encryption.
func Probe(ctx context.Context, transformers value.ResourceTransformers) {
	checked, can := transformers.(healthz.HealthChecker)
	if !can {
		return
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil); err == nil {
			_ = checked.Check(request) // nobody but the server acts on it
		}
	}, probePeriod)
}
