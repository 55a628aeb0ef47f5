package cacher

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// etcdFolder is the environment variable that turns the test binary into an etcd with its
// data in that folder.
const etcdFolder = "WATCHSIM_EXPERIMENT_ETCD"

func init() {
	folder := os.Getenv(etcdFolder)
	if folder == "" {
		return
	}
	if err := serveEtcd(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveEtcd prints etcd's address and serves until standard input ends, which it does even
// if the parent was killed.
func serveEtcd(folder string) error {
	signal.Ignore(os.Interrupt, syscall.SIGPIPE)
	defer os.RemoveAll(folder)
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir, config.LogLevel = filepath.Join(folder, "data"), "fatal"
	config.ListenClientUrls, config.AdvertiseClientUrls = loopback, loopback
	config.ListenPeerUrls, config.AdvertisePeerUrls = loopback, loopback
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer etcd.Close()
	<-etcd.Server.ReadyNotify()
	fmt.Println(etcd.Clients[0].Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// etcdProcess is a released etcd in a process of its own, so that its CPU time and memory
// are etcd's alone.
type etcdProcess struct {
	address string // host:port of clients and of metrics
	pid     int
}

func startEtcd(t testing.TB) etcdProcess {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), etcdFolder+"="+t.TempDir())
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		stdin.Close()
		require.NoError(t, command.Wait())
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "expected etcd to print its address")
	return etcdProcess{strings.TrimSpace(address), command.Process.Pid}
}

func connectEtcd(t testing.TB, address string) *kubernetes.Client {
	client, err := kubernetes.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: patience})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// experimentStore is the storage of pods over a connection of its own. It has no
// compactor, which would hold a watch in etcd.
func experimentStore(t testing.TB, address string) storage.Interface {
	versioner := storage.APIObjectVersioner{}
	store, err := etcd3.New(connectEtcd(t, address), nil, podCodec, newPod, newPodList, "/registry", podPrefix,
		schema.GroupResource{Resource: "pods"}, identity.NewEncryptCheckTransformer(),
		etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(podCodec, versioner), versioner)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

// watches asks etcd how many watches it serves.
func (e etcdProcess) watches(t testing.TB) (count int) {
	response, err := http.Get("http://" + e.address + "/metrics")
	require.NoError(t, err)
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text(), "etcd_debugging_mvcc_watcher_total %d", &count); n == 1 {
			return count
		}
	}
	require.FailNow(t, "expected etcd to publish etcd_debugging_mvcc_watcher_total")
	return 0
}

// usage is the CPU time, user and system, of etcd and of this process with the clients.
type usage struct{ etcd, client time.Duration }

func (u usage) since(earlier usage) usage {
	return usage{u.etcd - earlier.etcd, u.client - earlier.client}
}

func (e etcdProcess) usage(t testing.TB) usage {
	return usage{cpuTime(t, e.pid), cpuTime(t, os.Getpid())}
}

// cpuTime reads a process' own clock, which counts nanoseconds where /proc counts
// hundredths of a second. Linux alone shows it to other processes.
func cpuTime(t testing.TB, pid int) time.Duration {
	const scheduler = 2 // clock_getcpuclockid(3) makes it the CPU time of all threads
	var at unix.Timespec
	require.NoError(t, unix.ClockGettime(int32(^pid)<<3|scheduler, &at))
	return time.Duration(at.Nano())
}

func (e etcdProcess) residentBytes(t testing.TB) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", e.pid))
	require.NoError(t, err)
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}
