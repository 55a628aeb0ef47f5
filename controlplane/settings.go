package controlplane

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim/simdisk"
	"github.com/watchsim/watchsim/simtest"
)

// Settings are those of the control plane that differ from the defaults of the release. The zero value has the defaults.
type Settings struct {
	// Gates are feature gates, such as SchedulerAsyncPreemption=false.
	Gates []string
	// Servers are flags of kube-apiserver: server i has those of Servers[i%len(Servers)], as during a rollout of new flags.
	Servers [][]string
	// Manager are flags of kube-controller-manager.
	Manager []string
	// Scheduler are lines of a KubeSchedulerConfiguration.
	Scheduler []string
	// Extender are the fields of the schedulers' extender; without any there is none.
	Extender []string
}

// The settings that runs may have. None changes what is promised, or how soon: WatchList=false would, as informers then begin with whatever state the watch
// cache has (kubernetes/kubernetes #59848), and so would --watch-cache=false, as watches then end when etcd is compacted.
var (
	settableGates = []string{
		"StaleControllerConsistencyDaemonSet=false", "StaleControllerConsistencyJob=false", "StaleControllerConsistencyReplicaSet=false",
		"StaleControllerConsistencyStatefulSet=false", "StatefulSetSemanticRevisionComparison=false", "NodeControllerLeaseCircuitBreaker=false",
		"SchedulerAsyncAPICalls=true", "SchedulerAsyncPreemption=false", "SchedulerPopFromBackoffQ=false", "OpportunisticBatching=false",
		"NominatedNodeNameForExpectation=false", "UnlockWhileProcessingFIFO=false", "InOrderInformersBatchProcess=false",
		// The others need AtomicFIFO.
		"AtomicFIFO=false,UnlockWhileProcessingFIFO=false,NodeControllerLeaseCircuitBreaker=false,StaleControllerConsistencyDaemonSet=false," +
			"StaleControllerConsistencyHPA=false,StaleControllerConsistencyJob=false,StaleControllerConsistencyReplicaSet=false,StaleControllerConsistencyStatefulSet=false",
		// Those of API servers.
		"APIServingWithRoutine=true", "ConcurrentWatchObjectDecode=false", "ConsistentListFromCacheSkipTimeoutFallback=true", "DetectCacheInconsistency=false",
		"EtcdRangeStream=false", "ListFromCacheSnapshot=false", "SizeBasedListCostEstimate=false", "WebhookRoundTripLoadBalancing=false",
	}
	settableServerFlags = []string{
		"--delete-collection-workers=4", "--enable-priority-and-fairness=false", "--event-ttl=20s", "--goaway-chance=0.02", "--http2-max-streams-per-connection=50",
		"--request-timeout=10s", "--shutdown-delay-duration=3s", "--shutdown-send-retry-after=true", "--storage-media-type=application/json",
	}
	settableFlags = []string{
		"--concurrent-daemonset-syncs=1", "--concurrent-deployment-syncs=1", "--concurrent-gc-syncs=1", "--concurrent-job-syncs=1", "--concurrent-namespace-syncs=1",
		"--concurrent-replicaset-syncs=1", "--concurrent-service-endpoint-syncs=1", "--concurrent-statefulset-syncs=1",
		"--endpointslice-updates-batch-period=1s", "--max-endpoints-per-slice=2", "--min-resync-period=30s", "--terminated-pod-gc-threshold=5",
		"--leader-elect-lease-duration=6s --leader-elect-renew-deadline=4s --leader-elect-retry-period=1s",
	}
	settableLines = []string{"delayCacheUntilActive: true", "parallelism: 1", "percentageOfNodesToScore: 1", "podInitialBackoffSeconds: 5"}
)

// DrawSettings draws settings: in half of the runs all are the defaults.
func DrawSettings(t *simtest.T) (s Settings) {
	if simtest.Draw(t, rapid.Bool(), "default settings") {
		return s
	}
	drawn := Settings{
		Gates:     simtest.Draw(t, anyOf(settableGates), "feature gates"),
		Servers:   simtest.Draw(t, rapid.SliceOfN(anyOf(settableServerFlags), 0, 2), "flags of API servers"),
		Manager:   simtest.Draw(t, anyOf(settableFlags), "flags of controller managers"),
		Scheduler: simtest.Draw(t, anyOf(settableLines), "configuration of schedulers"),
	}
	if simtest.Draw(t, rapid.Bool(), "schedulers have an extender") {
		drawn.Extender = simtest.Draw(t, anyOf(settableExtender), "fields of the extender")
	}
	return drawn
}

// Configure gives all programs settings: those that run are told to stop, as by an upgrade, and start again. It takes some seconds, and more for each API server.
func (p *Plane) Configure(c *simtest.Cluster, s Settings) error {
	if len(s.Gates)+len(s.Servers)+len(s.Manager)+len(s.Scheduler)+len(s.Extender) == 0 {
		return nil
	}
	p.settings = s
	all := slices.Concat(p.managers, p.schedulers)
	for _, name := range all {
		if err := c.StopProgram(name); err != nil {
			return err
		}
	}
	time.Sleep(5 * time.Second)
	// All programs of a run share their feature gates.
	if err := utilfeature.DefaultMutableFeatureGate.Set(strings.Join(s.Gates, ",")); err != nil {
		return fmt.Errorf("set feature gates: %w", err)
	}
	for i, name := range c.Servers() {
		if len(s.Servers) == 0 {
			break
		}
		if err := os.WriteFile(serverFlags(name), []byte(strings.Join(s.Servers[i%len(s.Servers)], " ")), 0o600); err != nil {
			return fmt.Errorf("configure API servers: %w", err)
		}
		if err := c.RestartServer(name); err != nil {
			return err
		}
	}
	if len(s.Extender) > 0 {
		c.Go(extenderName, p.Extender)
	}
	for _, name := range all {
		if err := c.StartProgram(name); err != nil {
			return err
		}
	}
	return nil
}

// serverFlags returns the path of the file with an API server's flags, which it reads whenever it starts. It need not exist.
func serverFlags(server string) string { return simdisk.Root + "/" + server + ".flags" }

// managerFlags sets the flags of a controller manager, and returns all that there are.
func (s Settings) managerFlags(o *options.KubeControllerManagerOptions) (*pflag.FlagSet, error) {
	return parseFlags(o.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()), strings.Join(s.Manager, " "))
}

// parseFlags sets flags of a command, which are separated by spaces, and returns all that it has.
func parseFlags(sets cliflag.NamedFlagSets, given string) (*pflag.FlagSet, error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	return flags, flags.Parse(strings.Fields(given))
}

// scheduler returns the configuration of a scheduler.
func (s Settings) scheduler() (*schedulerconfig.KubeSchedulerConfiguration, error) {
	lines := append([]string{"apiVersion: kubescheduler.config.k8s.io/v1", "kind: KubeSchedulerConfiguration"}, s.Scheduler...)
	if len(s.Extender) > 0 {
		lines = append(lines, extenderLine(s.Extender))
	}
	decoded, version, err := scheme.Codecs.UniversalDecoder().Decode([]byte(strings.Join(lines, "\n")), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode the configuration of kube-scheduler: %w", err)
	}
	configuration := decoded.(*schedulerconfig.KubeSchedulerConfiguration)
	configuration.APIVersion = version.GroupVersion().String()
	return configuration, nil
}
