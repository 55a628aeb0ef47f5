package controlplane

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// TestGatesDiffer: each line of feature gates can be set, and its first gate is not so by default.
func TestGatesDiffer(t *testing.T) {
	for _, line := range settableGates {
		first, _, _ := strings.Cut(line, ",")
		name, value, _ := strings.Cut(first, "=")
		require.NotEqual(t, value == "true", utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name)), line)
		gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
		require.NoError(t, gates.Set(line))
		require.Empty(t, gates.Validate(), line)
	}
}

// TestFlagsDiffer: kube-apiserver and kube-controller-manager take each line of flags, and their values are not the defaults.
func TestFlagsDiffer(t *testing.T) {
	differ := func(flag *pflag.Flag) { require.NotEqual(t, flag.DefValue, flag.Value.String(), flag.Name) }
	for _, line := range settableServerFlags {
		flags, err := parseFlags(apiserveroptions.NewServerRunOptions().Flags(), line)
		require.NoError(t, err, line)
		flags.Visit(differ)
	}
	for _, line := range settableFlags {
		o, err := options.NewKubeControllerManagerOptions()
		require.NoError(t, err)
		flags, err := Settings{Manager: []string{line}}.managerFlags(o)
		require.NoError(t, err, line)
		flags.Visit(differ)
		require.NoError(t, o.Validate(controllers, app.ControllersDisabledByDefault(), app.ControllerAliases()), line)
	}
}

// TestSchedulerConfigurationDiffers: kube-scheduler takes each line of its configuration, which is not the default.
func TestSchedulerConfigurationDiffers(t *testing.T) {
	defaults, err := Settings{}.scheduler()
	require.NoError(t, err)
	for _, line := range settableLines {
		configuration, err := Settings{Scheduler: []string{line}}.scheduler()
		require.NoError(t, err, line)
		require.NotEqual(t, defaults, configuration, line)
	}
	for _, field := range settableExtender {
		configuration, err := Settings{Extender: []string{field}}.scheduler()
		require.NoError(t, err, field)
		configuration.Extenders[0].URLPrefix = ""
		require.NotEqual(t, []schedulerconfig.Extender{{}}, configuration.Extenders, field)
	}
}
