package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// TestBadFlags expects one sentence about each mistake, and failure.
func TestBadFlags(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // as outside of a cluster
	for _, test := range []struct {
		args string
		want string
	}{
		{"", "expected --etcd-servers, or --standalone for development on this machine, found neither"},
		{"--etcd-servers=http://127.0.0.1:1",
			"expected --kubeconfig, as this is no pod of a cluster, or --standalone for development on this machine, found neither"},
		{"--etcd-servers=embedded,http://127.0.0.1:1 --standalone",
			"expected --etcd-servers to be embedded or addresses, found both in embedded,http://127.0.0.1:1"},
		{"--standalone --bind-address=0.0.0.0",
			"expected a loopback --bind-address with --standalone, which lets everybody do everything, found 0.0.0.0"},
		{"--standalone --authentication-kubeconfig=x",
			"expected --standalone, which asks no kube-apiserver, or --authentication-kubeconfig, found both"},
		{"--standalone --watch-cache=maybe",
			`invalid argument "maybe" for "--watch-cache" flag: expected watchsim, kubernetes or off, found "maybe"`},
		{"--standalone --watch-cache-sizes=widgets",
			`--watch-cache-sizes: expected a window size as in pods#1000 or deployments.apps#0, found "widgets"`},
		{"--standalone --watch-cache-sizes=pods#5",
			"--watch-cache-sizes: expected the watch cache size of widgets, the only resource of this server, found pods.example.watchsim.dev#5"},
		{"--standalone --secure-port=70000", "expected --secure-port to be at most 65535, or 0 for a free one, found 70000"},
		{"--standalone --no-such-flag", "unknown flag: --no-such-flag"},
		{"--standalone surplus", `unknown command "surplus" for "apiserver"`},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, Main(strings.Fields(test.args), &stdout, &stderr), test.args)
		require.Equal(t, "apiserver: "+test.want+"\n", stderr.String(), test.args)
		require.Empty(t, stdout.String(), test.args)
	}
}

// TestCommand runs the command as a newcomer does, with an audit log, until SIGTERM.
func TestCommand(t *testing.T) {
	directory := t.TempDir()
	policy, log := filepath.Join(directory, "policy.yaml"), filepath.Join(directory, "audit.log")
	require.NoError(t, os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600))
	executable, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), executable, "--standalone", "--secure-port=0",
		"--audit-policy-file="+policy, "--audit-log-path="+log)
	command.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+directory)
	command.Dir = directory
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "%s", stderr.String())
	found := regexp.MustCompile(`^serving https://(127\.0\.0\.1:\d+)/apis/example\.watchsim\.dev/v1/widgets with watch cache watchsim\n$`).FindStringSubmatch(line)
	require.NotNil(t, found, line)

	s := &apiServer{t: t}
	s.connect(found[1])
	w := s.mustWatch("n", metav1.ListOptions{})
	widget := s.create("n", "w", "", nil)
	require.Equal(t, widget.ResourceVersion, next(t, w).Object.(*v1.Widget).ResourceVersion)
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, command.Wait(), "%s", stderr.String())
	_, open := <-w.ResultChan()
	require.False(t, open)

	requireAudited(t, log, "create", auditv1.StageResponseComplete)
	requireAudited(t, log, "watch", auditv1.StageResponseStarted)
	left, err := filepath.Glob(filepath.Join(directory, "widgets-etcd-*"))
	require.NoError(t, err)
	require.Empty(t, left, "data of etcd")
}

// requireAudited looks for a request about widgets in an audit log.
func requireAudited(t *testing.T, log, verb string, stage auditv1.Stage) {
	t.Helper()
	file, err := os.Open(log)
	require.NoError(t, err)
	defer file.Close()
	for lines := json.NewDecoder(file); lines.More(); {
		var event auditv1.Event
		require.NoError(t, lines.Decode(&event))
		if event.Verb == verb && string(event.Stage) == string(stage) && event.ObjectRef != nil && event.ObjectRef.Resource == "widgets" {
			require.Equal(t, "system:anonymous", event.User.Username)
			return
		}
	}
	require.Fail(t, "the audit log lacks "+verb+" at "+string(stage))
}
