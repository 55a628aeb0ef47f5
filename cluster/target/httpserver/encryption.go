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

// The KMS provider of the servers: its name, and the prefix of the values that it encrypts.
const (
	kmsProvider     = "watchsim"
	encryptedPrefix = "k8s:enc:kms:v2:" + kmsProvider + ":"
)

// reloadPeriod is how often servers reload their encryption configurations. In production it is a
// minute, as long as a run.
const reloadPeriod = 5 * time.Second

func init() { controller.EncryptionConfigFileChangePollDuration = reloadPeriod }

// Encryption is the encryption at rest of a cluster's API servers. Each server has a configuration
// file, and a KMS plugin, through which it reaches the key management service that all share.
//
// Each server writes with a data key of its own, which the service encrypts: when the server
// starts, and when it sees that the service's key has changed. To read what others have written, it
// asks the service once for each of their data keys.
type Encryption struct {
	keys keyService

	mu        sync.Mutex
	offered   bool
	resources []string
	servers   []string // those with a file
}

// Offer makes servers that start from now on able to encrypt. At first they encrypt nothing.
func (e *Encryption) Offer() { e.offered = true }

// Configure sets the options of a starting server, and starts its plugin, which is unplugged when the
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

// Encrypt makes all servers encrypt these resources, such as secrets, deployments.apps or *.*; none makes them
// encrypt nothing, as initially. Without faults, all of them have applied it after the returned time: two reloads,
// as the first may have been in progress.
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

// Rotate makes the key management service use another key.
func (e *Encryption) Rotate() { e.keys.rotate() }

// Hang sets whether servers hang during an outage of the key management service, instead of getting an error.
func (e *Encryption) Hang(silent bool) { e.keys.silent.Store(silent) }

// Missed reports whether an outage of the key management service made any decryption fail.
func (e *Encryption) Missed() bool { return e.keys.missed.Load() > 0 }

// fileOf returns the path of a server's configuration.
func fileOf(server string) string { return simdisk.Root + "/encryption-" + server + ".yaml" }

// everything selects all resources in an encryption configuration.
const everything = "*.*"

// write writes the file of a server. As Kubernetes' documentation advises for several servers, each
// can read encrypted values before any of them encrypts: until Encrypt, the identity provider comes
// first, and writes.
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

// probePeriod is how often a kubelet probes a server.
const probePeriod = 10 * time.Second

// Probe checks whether a server reaches its key management service, which is part of its readiness, as a
// kubelet and a load balancer do, until ctx is done. That is also when the server notices a changed key. The
// transformers are those of the server, nil without encryption.
func Probe(ctx context.Context, transformers value.ResourceTransformers) {
	checked, can := transformers.(healthz.HealthChecker)
	if !can {
		return
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/readyz", nil); err == nil {
			_ = checked.Check(request) // only the server acts on it
		}
	}, probePeriod)
}
