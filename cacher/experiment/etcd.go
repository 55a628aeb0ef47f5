package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// etcdFolder is the environment variable that turns this binary into etcd. Its
	// value is the folder for etcd's data.
	etcdFolder = "WATCHSIM_EXPERIMENT_ETCD"
	// etcdPatience bounds starting and stopping etcd, and asking for its metrics.
	etcdPatience = 2 * time.Minute
	// watcherMetric is how many watches etcd serves, whoever asked for them.
	watcherMetric = "etcd_debugging_mvcc_watcher_total"
)

// etcdProcess is a released etcd in a process of its own, so that its CPU time
// and memory are etcd's alone.
type etcdProcess struct {
	address string // host:port of clients and of metrics
	command *exec.Cmd
	stdin   io.Closer // etcd ends when it is closed, and so does not outlive its parent
	folder  string

	ended  chan struct{} // closed when the process has ended; what follows is good then
	result error
	stderr bytes.Buffer
}

// serveEtcd is what the etcd process does. It prints its address, and serves until
// its standard input ends, which it does even if the parent was killed.
func serveEtcd(folder string) error {
	// The terminal interrupts both processes, and the parent then ends this one. If
	// the parent was killed, nobody reads what etcd logs when it ends.
	signal.Ignore(os.Interrupt, syscall.SIGPIPE)
	defer os.RemoveAll(folder) // the last thing that this process does
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir = filepath.Join(folder, "data")
	config.ListenClientUrls, config.AdvertiseClientUrls = loopback, loopback
	config.ListenPeerUrls, config.AdvertisePeerUrls = loopback, loopback
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "error"
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer etcd.Close()
	select {
	case <-etcd.Server.ReadyNotify():
	case <-time.After(etcdPatience):
		return fmt.Errorf("expected etcd to be ready within %v, found it is not", etcdPatience)
	}
	fmt.Println(etcd.Clients[0].Addr())
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case err := <-etcd.Err():
		return err
	}
}

// startEtcd starts an empty etcd on free ports of the loopback interface.
func startEtcd(ctx context.Context) (*etcdProcess, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "watchsim-experiment-")
	if err != nil {
		return nil, err
	}
	printed, stdout := io.Pipe()
	e := &etcdProcess{folder: folder, command: exec.Command(binary), ended: make(chan struct{})}
	e.command.Env = append(os.Environ(), etcdFolder+"="+folder)
	e.command.Stdout, e.command.Stderr = stdout, &e.stderr
	e.stdin, err = e.command.StdinPipe()
	if err == nil {
		err = e.command.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	go func() {
		e.result = e.command.Wait()
		stdout.Close()
		close(e.ended)
	}()
	line := make(chan string, 1)
	go func() {
		first, _ := bufio.NewReader(printed).ReadString('\n')
		line <- strings.TrimSpace(first)
		io.Copy(io.Discard, printed)
	}()
	select {
	case e.address = <-line:
	case <-time.After(etcdPatience):
	case <-ctx.Done():
	}
	if e.address == "" {
		return nil, errors.Join(context.Cause(ctx), e.stop(), errors.New("expected etcd to start and to print its address, found that it has not"))
	}
	return e, nil
}

// stop ends the process, kills it if it does not end, and removes its folder.
func (e *etcdProcess) stop() error {
	e.stdin.Close()
	select {
	case <-e.ended:
	case <-time.After(etcdPatience):
		e.command.Process.Kill()
		<-e.ended
	}
	return errors.Join(e.failure(), os.RemoveAll(e.folder))
}

// failure says why the process ended, if it has ended and not because it was to.
func (e *etcdProcess) failure() error {
	<-e.ended
	if e.result == nil {
		return nil
	}
	return fmt.Errorf("etcd ended: %w: %s", e.result, strings.TrimSpace(e.stderr.String()))
}

// whileItRuns returns a context that ends when the process does, with the reason.
func (e *etcdProcess) whileItRuns(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		<-e.ended
		cancel(e.failure())
	}()
	return ctx, cancel
}

// pid is the process ID of etcd.
func (e *etcdProcess) pid() int { return e.command.Process.Pid }

// watchers asks etcd how many watches it serves.
func (e *etcdProcess) watchers(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, err
	}
	family := families[watcherMetric]
	if family == nil || len(family.GetMetric()) != 1 {
		return 0, fmt.Errorf("expected etcd to publish %s once, found %v", watcherMetric, family)
	}
	return int(family.GetMetric()[0].GetGauge().GetValue()), nil
}
