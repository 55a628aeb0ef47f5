package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/simtest"
)

// Settings are those of controller managers and schedulers that differ from the defaults of the release. The zero value has the defaults.
type Settings struct {
	// Gates are feature gates, such as SchedulerAsyncPreemption=false. No API server depends on them.
	Gates []string
	// Manager are flags of kube-controller-manager.
	Manager []string
	// Scheduler are lines of a KubeSchedulerConfiguration.
	Scheduler []string
}

// The settings that runs may have. None changes what is promised, or how soon.
var (
	settableGates = []string{
		"StaleControllerConsistencyDaemonSet=false", "StaleControllerConsistencyJob=false", "StaleControllerConsistencyReplicaSet=false",
		"StaleControllerConsistencyStatefulSet=false", "StatefulSetSemanticRevisionComparison=false", "NodeControllerLeaseCircuitBreaker=false",
		"SchedulerAsyncAPICalls=true", "SchedulerAsyncPreemption=false", "SchedulerPopFromBackoffQ=false", "OpportunisticBatching=false",
		"NominatedNodeNameForExpectation=false", "UnlockWhileProcessingFIFO=false", "InOrderInformersBatchProcess=false",
		// The others need AtomicFIFO.
		"AtomicFIFO=false,UnlockWhileProcessingFIFO=false,NodeControllerLeaseCircuitBreaker=false,StaleControllerConsistencyDaemonSet=false," +
			"StaleControllerConsistencyHPA=false,StaleControllerConsistencyJob=false,StaleControllerConsistencyReplicaSet=false,StaleControllerConsistencyStatefulSet=false",
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
	return Settings{
		Gates:     simtest.Draw(t, anyOf(settableGates), "feature gates"),
		Manager:   simtest.Draw(t, anyOf(settableFlags), "flags of controller managers"),
		Scheduler: simtest.Draw(t, anyOf(settableLines), "configuration of schedulers"),
	}
}

// Configure gives all controller managers and schedulers settings: those that run are told to stop, as by an upgrade, and start again. It takes some seconds.
func (p *Plane) Configure(c *simtest.Cluster, s Settings) error {
	if len(s.Gates)+len(s.Manager)+len(s.Scheduler) == 0 {
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
	for _, name := range all {
		if err := c.StartProgram(name); err != nil {
			return err
		}
	}
	return nil
}

// managerFlags sets the flags of a controller manager, and returns all that there are.
func (s Settings) managerFlags(o *options.KubeControllerManagerOptions) (*pflag.FlagSet, error) {
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	for _, set := range o.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()).FlagSets {
		flags.AddFlagSet(set)
	}
	return flags, flags.Parse(strings.Fields(strings.Join(s.Manager, " ")))
}

// scheduler returns the configuration of a scheduler.
func (s Settings) scheduler() (*schedulerconfig.KubeSchedulerConfiguration, error) {
	lines := append([]string{"apiVersion: kubescheduler.config.k8s.io/v1", "kind: KubeSchedulerConfiguration"}, s.Scheduler...)
	decoded, version, err := scheme.Codecs.UniversalDecoder().Decode([]byte(strings.Join(lines, "\n")), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode the configuration of kube-scheduler: %w", err)
	}
	configuration := decoded.(*schedulerconfig.KubeSchedulerConfiguration)
	configuration.APIVersion = version.GroupVersion().String()
	return configuration, nil
}
