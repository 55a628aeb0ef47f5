package controlplane

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apiserver "k8s.io/apiserver/pkg/server/options"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/simdisk"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
	"github.com/watchsim/watchsim/traces/judge"
)

// auditPolicy is what docs/real-clusters.md recommends, for every resource.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: RequestResponse
`

// auditPrefix and auditSuffix enclose the name of a server in the name of its log.
const auditPrefix, auditSuffix = "audit-", ".log"

// AuditLogs is the folder with the audit logs of a run.
const AuditLogs = simdisk.Root

// keepAudits is 1, or the folder to which logs that disagree with the clients are copied.
var keepAudits = os.Getenv("WATCHSIM_AUDIT")

// Audits reports whether API servers keep audit logs, which the environment variable WATCHSIM_AUDIT asks for.
// A seed with audit logs is another run than without.
var Audits = keepAudits != ""

// CheckAudits returns an error if the variable is neither 1 nor an absolute path. Each run has its own working folder.
func CheckAudits() error {
	if !Audits || keepAudits == "1" || filepath.IsAbs(keepAudits) {
		return nil
	}
	return fmt.Errorf("WATCHSIM_AUDIT: expected 1 or the absolute path of a folder, found %q", keepAudits)
}

// keepAuditLog makes a server write an audit log if Audits is set. All lives of a server share one.
func keepAuditLog(server string, options *apiserver.AuditOptions) error {
	if !Audits {
		return nil
	}
	options.PolicyFile = AuditLogs + "/audit-policy.yaml"
	options.LogOptions.Path = filepath.Join(AuditLogs, auditPrefix+server+auditSuffix)
	options.LogOptions.MaxSize = 0 // no rotation, which compresses files and names them by the time
	return os.WriteFile(options.PolicyFile, []byte(auditPolicy), 0o600)
}

// Audited imports the audit logs in a folder, as `simrun import` imports those of real clusters, and
// returns where they disagree with what the clients of the run have recorded. It is called after the
// run.
func Audited(seen simtest.Seen, folder string) (wrong []string, err error) {
	logs, err := auditLogs(folder)
	if err != nil {
		return nil, err
	}
	resources := slices.Sorted(maps.Keys(seen.Requests))
	for i, resource := range resources {
		history := seen.Histories[resource]
		if history == nil {
			continue
		}
		clocks, err := clocksOf(history.Faults)
		if err != nil {
			return nil, err
		}
		comparison := newComparison(seen.Requests[resource], clocks)
		options := importer.Options{Resource: resource, Tell: func(one *importer.Told) { comparison.add(since(seen.Epoch, one)) }}
		options.ClockSkew = clocks.skew()
		files, err := logs.of(resource)
		if err != nil {
			return nil, err
		}
		texts, err := unknownViolations(files, options, history)
		comparison.end()
		if err == nil && int64(i) == seen.Committed.Revision%int64(len(resources)) { // this takes long: only for one resource
			var etcd []importer.File
			if etcd, err = etcdctl(folder, seen.Committed); err == nil {
				options.Tell, options.EtcdFrom = nil, 2
				var more []string
				more, err = unknownViolations(append(files, etcd...), options, history)
				texts = append(texts, more...)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("expected audit logs that can be imported, found that those about %s cannot: %w", resource, err)
		}
		for why := range comparison.left {
			seen.Unjudged(resource, "in audit logs, "+why)
		}
		for _, one := range comparison.wrong {
			wrong = append(wrong, "the audit log of "+resource+" disagrees: "+one)
		}
		for _, text := range texts {
			wrong = append(wrong, "the audit log of "+resource+" shows a violation that clients did not see: "+text)
		}
	}
	if len(wrong) > 0 && filepath.IsAbs(keepAudits) {
		err = logs.keep(keepAudits, seen)
	}
	return wrong, err
}

// since returns a request of a log with times relative to an epoch.
func since(epoch int64, one *importer.Told) *importer.Told {
	moved := *one
	if moved.Call -= epoch; moved.Return != model.Pending {
		moved.Return -= epoch
	}
	return &moved
}

// unknownViolations imports files, and returns violations of guarantees that the recorded history
// does not break.
func unknownViolations(files []importer.File, options importer.Options, recorded *model.History) (texts []string, err error) {
	_, imported, _, err := importer.Import(files, options)
	if err != nil {
		return nil, err
	}
	found := judge.RealCluster(imported).Violations
	if len(found) == 0 {
		return nil, nil
	}
	known := map[string]bool{}
	for _, one := range judge.RealCluster(recorded).Violations {
		known[one.Guarantee] = true
	}
	for _, one := range found {
		if !known[one.Guarantee] {
			texts = append(texts, one.Text)
		}
	}
	return texts, nil
}

// logs are the lines of audit logs, by resource and server.
type logs struct {
	folder string
	files  []string
	lines  map[string]map[string][]byte
}

// auditLogs reads the logs in a folder.
func auditLogs(folder string) (*logs, error) {
	files, err := filepath.Glob(filepath.Join(folder, auditPrefix+"*"+auditSuffix))
	if err == nil && len(files) == 0 {
		err = errors.New("expected the audit logs of servers, found none")
	}
	l := &logs{folder: folder, files: files, lines: map[string]map[string][]byte{}}
	for _, file := range files {
		text, failed := os.ReadFile(file)
		if failed != nil {
			return nil, failed
		}
		server := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), auditPrefix), auditSuffix)
		for line := range bytes.Lines(text) {
			if resource := resourceOf(line); resource != "" {
				if l.lines[resource] == nil {
					l.lines[resource] = map[string][]byte{}
				}
				l.lines[resource][server] = append(l.lines[resource][server], line...)
			}
		}
	}
	return l, err
}

// keep writes the logs, the requests that clients recorded, and what etcdctl would have printed, to a new subfolder.
func (l *logs) keep(folder string, seen simtest.Seen) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	kept, err := os.MkdirTemp(folder, "")
	if err != nil {
		return err
	}
	_, err = etcdctl(kept, seen.Committed)
	requests, failed := json.Marshal(seen.Requests)
	err = errors.Join(err, failed, os.WriteFile(filepath.Join(kept, "requests.json"), requests, 0o600))
	for _, file := range l.files {
		text, failed := os.ReadFile(file)
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(kept, filepath.Base(file)), text, 0o600))
	}
	return err
}

// resourceOf returns the resource of a log line, "" for none. The field precedes everything
// that a client can choose, so that the whole line need not be decoded.
func resourceOf(line []byte) string {
	const field = `"requestURI":`
	_, after, found := bytes.Cut(line, []byte(field))
	var uri string
	if !found || json.NewDecoder(bytes.NewReader(after)).Decode(&uri) != nil {
		return ""
	}
	parsed, err := url.ParseRequestURI(uri)
	if err != nil {
		return ""
	}
	request, _, _ := importer.ParseURL(parsed)
	return request.Resource
}

// of writes a file for each server with the lines of a resource.
func (l *logs) of(resource string) (files []importer.File, err error) {
	for _, server := range slices.Sorted(maps.Keys(l.lines[resource])) {
		path := filepath.Join(l.folder, "one-resource-"+server+auditSuffix)
		if err := os.WriteFile(path, l.lines[resource][server], 0o600); err != nil {
			return nil, err
		}
		files = append(files, importer.File{Kind: importer.Audit, Server: server, Path: path})
	}
	return files, nil
}

// etcdctl writes what `etcdctl get` prints of a new etcd, and what `etcdctl watch --rev 2` prints
// after that.
func etcdctl(folder string, committed model.Truth) (files []importer.File, err error) {
	type keyValue struct {
		Key         []byte `json:"key"`
		ModRevision int64  `json:"mod_revision"`
		Value       []byte `json:"value,omitempty"`
	}
	type event struct {
		Type string    `json:"type,omitempty"`
		KV   *keyValue `json:"kv"`
	}
	type response struct {
		Header map[string]int64 `json:"header"`
		Events []event          `json:"events"`
	}
	var changes bytes.Buffer
	encoder := json.NewEncoder(&changes)
	for _, change := range committed.Changes {
		one := event{KV: &keyValue{Key: []byte(change.Object.Name), ModRevision: change.RV}}
		if change.Deleted {
			one.Type = "DELETE"
		} else {
			one.KV.Value = []byte(change.Object.Value)
		}
		err = errors.Join(err, encoder.Encode(response{map[string]int64{"revision": change.RV}, []event{one}}))
	}
	err = errors.Join(err, encoder.Encode(response{map[string]int64{"revision": committed.Revision}, nil}))
	for _, output := range []struct {
		name string
		text []byte
	}{{"state.json", []byte(`{"header":{"revision":1}}`)}, {"changes.json", changes.Bytes()}} {
		path := filepath.Join(folder, output.name)
		err = errors.Join(err, os.WriteFile(path, output.text, 0o600))
		files = append(files, importer.File{Kind: importer.Etcdctl, Server: output.name, Path: path})
	}
	return files, err
}

// clocks are the amounts by which the clock of each server was ahead at some time, except 0.
type clocks map[string][]time.Duration

// clocksOf returns the jumps of clocks among faults.
func clocksOf(faults []model.Fault) (clocks, error) {
	moved := clocks{}
	for _, fault := range faults {
		if fault.Name != "clock-jump" {
			continue
		}
		for word := range strings.FieldsSeq(fault.Note) {
			if by, is := strings.CutPrefix(word, "by="); is {
				ahead, err := time.ParseDuration(by)
				if err != nil {
					return nil, fmt.Errorf("expected the fault clock-jump to say by how much, found %q", fault.Note)
				}
				for _, process := range fault.Processes {
					moved[process] = append(moved[process], ahead)
				}
			}
		}
	}
	return moved, nil
}

// skew returns the value for `simrun import --clock-skew`.
func (c clocks) skew() (most time.Duration) {
	for _, jumps := range c {
		for _, ahead := range jumps {
			most = max(most, ahead.Abs())
		}
	}
	return 2 * most
}
