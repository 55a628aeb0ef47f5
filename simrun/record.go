package simrun

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/recorder"
)

// recordFlags are the flags of `simrun record`.
type recordFlags struct {
	kubeconfig, context, tokenFile, authority, tlsServerName string
	insecure                                                 bool
	servers                                                  []string
	resource, namespace                                      string
	duration, probeEvery                                     time.Duration
	options                                                  recorder.Options
	out                                                      string
}

// recordCommand records what API servers answer.
func recordCommand() *cobra.Command {
	var f recordFlags
	command := &cobra.Command{
		Use:   "record --resource RESOURCE",
		Short: "record what real API servers answer, as a history",
		Long: "record lists and watches a resource with an informer on each server, lists it at resourceVersion 0 from\n" +
			"each in turn, and records the answers, for `simrun check` to judge. It needs the verbs list and watch.\n\n" +
			"Objects are redacted to their names, UIDs and resourceVersions, and a digest that contents cannot be\n" +
			"guessed from. Contents of Secrets and credentials are never written. Ctrl-C ends the recording early\n" +
			"and writes it. It also writes every few seconds, so that a kill loses little.\n" +
			"docs/real-clusters.md says what it can show.",
		Example: "  simrun record --resource pods --duration 10m -o history.jsonl\n" +
			"  simrun record --resource leases.coordination.k8s.io --namespace kube-system \\\n" +
			"    --server a=https://10.0.0.1:6443 --server b=https://10.0.0.2:6443 -o history.jsonl\n" +
			"  simrun record --resource pods --server https://10.0.0.1:6443 --token-file token --certificate-authority ca.crt",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file with the cluster and credentials (default: that of kubectl, or the service account of the pod that this runs in)")
	flags.StringVar(&f.context, "context", "", "context in that file (default: its current one)")
	flags.StringArrayVar(&f.servers, "server", nil, "API server as URL or NAME=URL, asked with the same credentials; may be given again (default: the kubeconfig's)")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with a bearer token, in the place of a kubeconfig")
	flags.StringVar(&f.authority, "certificate-authority", "", "file with the certificates that sign those of the servers")
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
	if f.out != "-" && isFile(f.out) { // better found out now than after the recording
		if err := tryToWrite(filepath.Dir(f.out)); err != nil {
			return notWritten(f.out, err)
		}
	}
	observation, err := recorder.Start(command.Context(), recorder.Config{
		Servers: servers, Resource: f.resource, Namespace: f.namespace, ProbeEvery: f.probeEvery, Options: f.options,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(command.ErrOrStderr(), "recording %s for %v; Ctrl-C ends it and writes %s\n", f.resource, f.duration, f.out)
	err = f.keepWriting(command, observation.Recorder)
	observation.Stop()
	header, h, notes, failed := observation.History()
	if failed == nil {
		failed = writeHistory(command, f.out, header, h, notes)
	}
	return errors.Join(err, failed)
}

const (
	// writeEvery is how often the recording is written, in case the command is killed.
	writeEvery = 2 * time.Second
	// writeShare bounds the part of the time that this takes: one in this many.
	writeShare = 20
)

// keepWriting writes the recording again and again until the command is interrupted or the time is
// up. Each history replaces the last one atomically, so that a killed command leaves a whole one.
func (f *recordFlags) keepWriting(command *cobra.Command, r *recorder.Recorder) error {
	end := time.After(f.duration)
	pause := writeEvery
	for {
		select {
		case <-command.Context().Done():
			return nil
		case <-end:
			return nil
		case <-time.After(pause):
		}
		if f.out == "-" || !isFile(f.out) {
			pause = f.duration // a reader of a pipe wants one history
			continue
		}
		began := time.Now()
		header, h, _, err := r.History()
		if err != nil {
			return err
		}
		header.Attributes[traces.AttributeUnfinished] = began.UTC().Format(time.RFC3339)
		if err := writeHistory(command, f.out, header, h, nil); err != nil {
			return err
		}
		pause = max(writeEvery, writeShare*time.Since(began))
	}
}

// apiServers are the servers to record, with the credentials for them.
func (f *recordFlags) apiServers() ([]recorder.Server, error) {
	config, err := f.credentials()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "simrun-record"
	if f.tlsServerName != "" {
		config.TLSClientConfig.ServerName = f.tlsServerName
	}
	if f.authority != "" {
		config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile = nil, f.authority
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
		name, address, isNamed := strings.Cut(server, "=")
		if !isNamed {
			address = server
		}
		parsed, err := url.Parse(address)
		if err == nil && !isNamed {
			name = parsed.Host
		}
		if err != nil || name == "" || parsed.Host == "" || parsed.User != nil || named[name] {
			// The address is not shown: it may hold a password.
			return nil, fmt.Errorf("--server: expected URL or NAME=URL, with a name of its own and no credentials in the URL, found something else in server %d", len(servers)+1)
		}
		named[name] = true
		own := rest.CopyConfig(config)
		own.Host = address
		servers = append(servers, recorder.Server{Name: name, Config: own})
	}
	return servers, nil
}

// credentials come from the token file, the kubeconfig, or the pod that this runs in, whichever is
// found first. A server may need none.
func (f *recordFlags) credentials() (*rest.Config, error) {
	if f.tokenFile != "" {
		if _, err := os.ReadFile(f.tokenFile); err != nil {
			return nil, fmt.Errorf("--token-file: expected a file with a bearer token: %w", err)
		}
		if len(f.servers) == 0 {
			return nil, errors.New("--token-file: expected --server URL beside it, found none")
		}
		return &rest.Config{BearerTokenFile: f.tokenFile}, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	switch {
	case err == nil:
		return config, nil
	case clientcmd.IsEmptyConfig(err) && f.kubeconfig == "" && len(f.servers) > 0:
		return &rest.Config{}, nil
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("expected a cluster to record, found no kubeconfig and no service account of a pod; give --kubeconfig FILE, or --server URL with --token-file FILE")
	}
	return nil, fmt.Errorf("--kubeconfig: expected a cluster and credentials, found none that can be used: %w", err)
}
