package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/recorder"
)

// recordFlags are what `simrun record` takes.
type recordFlags struct {
	kubeconfig, context, tlsServerName string
	insecure                           bool
	servers                            []string
	resource, namespace                string
	duration, probeEvery               time.Duration
	options                            recorder.Options
	out                                string
}

// recordCommand records what API servers show.
func recordCommand() *cobra.Command {
	var f recordFlags
	command := &cobra.Command{
		Use:   "record --resource RESOURCE",
		Short: "record what one or several real API servers show, as a history",
		Long: "record lists and watches a resource with an informer on each server, lists it at resourceVersion 0 from\n" +
			"each in turn, and writes down what came, for `simrun check` to judge. It needs the verbs list and watch.\n\n" +
			"Objects are redacted to their names, UIDs and resourceVersions, and a digest that contents cannot be\n" +
			"guessed from. Contents of Secrets and credentials are never written. Ctrl-C ends the recording early\n" +
			"and writes it. What there is so far is written every few seconds, and is there if record is killed.\n" +
			"docs/real-clusters.md says what it can show.",
		Example: "  simrun record --resource pods --duration 10m -o history.jsonl\n" +
			"  simrun record --resource leases.coordination.k8s.io --namespace kube-system \\\n" +
			"    --server a=https://10.0.0.1:6443 --server b=https://10.0.0.2:6443 -o history.jsonl",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file with the cluster and credentials (default: as kubectl has it)")
	flags.StringVar(&f.context, "context", "", "context in that file (default: its current one)")
	flags.StringArrayVar(&f.servers, "server", nil, "API server as NAME=URL, asked with the same credentials; may be given again (default: the kubeconfig's)")
	flags.StringVar(&f.tlsServerName, "tls-server-name", "", "name that the servers' certificates have, if it is not that of the URL")
	flags.BoolVar(&f.insecure, "insecure-skip-tls-verify", false, "do not verify the servers' certificates")
	flags.StringVar(&f.resource, "resource", "", "the resource to record, such as pods or deployments.apps")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "record this namespace only")
	flags.DurationVar(&f.duration, "duration", time.Minute, "how long to record")
	flags.DurationVar(&f.probeEvery, "probe-every", 10*time.Second, "how often to list at resourceVersion 0 from each server in turn, 0 for never")
	flags.BoolVar(&f.options.Bodies, "bodies", false, "write the contents of objects, but for Secrets, instead of digests")
	flags.BoolVar(&f.options.Labels, "labels", false, "write all labels")
	flags.StringVarP(&f.out, "out", "o", "history.jsonl", "file to write, or - for standard output")
	return command
}

func (f *recordFlags) run(command *cobra.Command) error {
	if f.resource == "" {
		return fmt.Errorf("--resource: expected a resource to record, such as pods or deployments.apps, found none")
	}
	if f.duration <= 0 || f.probeEvery < 0 {
		return fmt.Errorf("expected --duration above 0 and --probe-every of at least 0, found %v and %v", f.duration, f.probeEvery)
	}
	servers, err := f.apiServers()
	if err != nil {
		return err
	}
	if f.out != "-" { // better found out now than after the recording
		file, err := os.OpenFile(f.out, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		file.Close()
	}
	observation, err := recorder.Start(command.Context(), recorder.Config{
		Servers: servers, Resource: f.resource, Namespace: f.namespace, ProbeEvery: f.probeEvery, Options: f.options,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(command.ErrOrStderr(), "recording %s for %v; Ctrl-C ends it and writes %s\n", f.resource, f.duration, f.out)
	err = f.keepWriting(command.Context(), observation.Recorder)
	observation.Stop()
	return errors.Join(err, f.write(command.OutOrStdout(), command.ErrOrStderr(), observation.Recorder))
}

const (
	// writeEvery is how often what was recorded so far is written, so that it is there
	// if the command is killed.
	writeEvery = 2 * time.Second
	// writeShare is how much of the time that may take, at most: one part in so many.
	writeShare = 20
)

// keepWriting writes what was recorded so far, again and again, until ctx is done or
// the time is up. Each history takes the place of the one before at once, so that there
// is a whole one whenever the command is killed.
func (f *recordFlags) keepWriting(ctx context.Context, recorder *recorder.Recorder) error {
	end := time.After(f.duration)
	pause := writeEvery
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return nil
		case <-time.After(pause):
		}
		if !f.replaces() {
			pause = f.duration // who reads from a pipe wants one history
			continue
		}
		began := time.Now()
		header, h, _, err := recorder.History()
		if err != nil {
			return err
		}
		header.Attributes[traces.AttributeUnfinished] = began.UTC().Format(time.RFC3339)
		if err := f.replace(header, h); err != nil {
			return err
		}
		pause = max(writeEvery, writeShare*time.Since(began))
	}
}

// replaces is whether the file to write can be replaced by another one.
func (f *recordFlags) replaces() bool {
	about, err := os.Lstat(f.out)
	return f.out != "-" && err == nil && about.Mode().IsRegular()
}

// replace writes a history beside the file and puts it in the file's place.
func (f *recordFlags) replace(header traces.Header, h *model.History) (err error) {
	beside, err := os.CreateTemp(filepath.Dir(f.out), "."+filepath.Base(f.out)+"-*")
	if err != nil {
		return fmt.Errorf("--out: cannot write beside %s: %w", f.out, err)
	}
	err = errors.Join(traces.WriteHistory(beside, header, h), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), f.out)
	}
	if err != nil {
		os.Remove(beside.Name())
		return fmt.Errorf("--out: cannot write %s: %w", f.out, err)
	}
	return nil
}

func (f *recordFlags) write(stdout, stderr io.Writer, recorder *recorder.Recorder) error {
	header, h, notes, err := recorder.History()
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "left out: %s\n", note)
	}
	if f.replaces() {
		return f.replace(header, h)
	}
	return writeHistory(stdout, f.out, header, h)
}

// apiServers are the servers asked for, with the credentials of the kubeconfig.
func (f *recordFlags) apiServers() ([]recorder.Server, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: expected a cluster and credentials, found none that can be used: %w", err)
	}
	config.UserAgent = "simrun-record"
	if f.tlsServerName != "" {
		config.TLSClientConfig.ServerName = f.tlsServerName
	}
	if f.insecure {
		config.TLSClientConfig.Insecure = true
		config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile = nil, ""
	}
	if len(f.servers) == 0 {
		return []recorder.Server{{Name: "apiserver", Config: config}}, nil
	}
	var servers []recorder.Server
	named := map[string]bool{}
	for _, server := range f.servers {
		name, address, ok := strings.Cut(server, "=")
		parsed, err := url.Parse(address)
		if !ok || name == "" || err != nil || parsed.Host == "" || parsed.User != nil || named[name] {
			// The address is not shown: it may hold a password.
			return nil, fmt.Errorf("--server: expected NAME=URL, with a name of its own and no credentials in the URL, found something else under the name %q", name)
		}
		named[name] = true
		own := rest.CopyConfig(config)
		own.Host = address
		servers = append(servers, recorder.Server{Name: name, Config: own})
	}
	return servers, nil
}
