package importer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// Kind is a format of files.
type Kind string

// The kinds, as named on the command line.
const (
	Audit   Kind = "audit"
	Kubectl Kind = "kubectl"
	Etcdctl Kind = "etcdctl"
	History Kind = "history"
)

// kinds are in the order in which they are read: those that name the resource come
// first, because it determines which keys in etcd are read.
var kinds = []Kind{History, Audit, Kubectl, Etcdctl}

// File is one source.
type File struct {
	Kind Kind
	// Server names the API server that it is from; for etcd, only the source.
	Server string
	Path   string
}

// Files reads arguments such as
//
//	audit a=audit-a.log b=audit-b.log etcdctl etcd.json
//
// The first word is a kind, and each kind applies to the files up to the next one. A
// file without a server is named after itself.
func Files(arguments []string) ([]File, error) {
	var files []File
	kind := Kind("")
	for _, argument := range arguments {
		if slices.Contains(kinds, Kind(argument)) {
			kind = Kind(argument)
			continue
		}
		if kind == "" {
			return nil, fmt.Errorf("expected audit, kubectl, etcdctl or history before the first file, found %q", argument)
		}
		server, path, named := strings.Cut(argument, "=")
		if !named || strings.ContainsRune(server, filepath.Separator) {
			server, path = strings.TrimSuffix(filepath.Base(argument), filepath.Ext(argument)), argument
		}
		if server == "" || path == "" {
			return nil, fmt.Errorf("expected a file, or SERVER=FILE, found %q", argument)
		}
		files = append(files, File{kind, server, path})
	}
	if len(files) == 0 {
		return nil, errors.New("expected files to import, found none; try `simrun import audit SERVER=audit.log etcdctl etcd.json`")
	}
	return files, nil
}

// Options say what the files do not.
type Options struct {
	// Resource is the resource that the history is about, such as pods or
	// deployments.apps. It may be empty if the sources are about one.
	Resource string
	// EtcdFrom is the --rev of `etcdctl watch`, 0 for none.
	EtcdFrom int64
	// Tell is called with each request of the audit logs, in order, including those that
	// are omitted; it may be nil.
	Tell func(*Told)
	// HistoryOptions.ClockSkew may be below 0, which means [DefaultSkew] if there are
	// several clocks and none if there is one.
	HistoryOptions
}

// DefaultSkew is the most that clocks synchronised by NTP may differ in a poorly
// maintained cluster.
const DefaultSkew = time.Second

// Import makes a history of files. The notes say what was omitted and why.
func Import(files []File, options Options) (header traces.Header, h *model.History, notes []string, err error) {
	if options.ClockSkew < 0 {
		options.ClockSkew = 0
		if clocks(files) > 1 {
			options.ClockSkew = DefaultSkew
		}
	}
	recording := &Recording{Resource: options.Resource}
	logs := auditReader{Recording: recording, ClockSkew: options.ClockSkew, Tell: options.Tell}
	for _, kind := range kinds {
		for _, file := range files {
			if file.Kind != kind {
				continue
			}
			if err := read(recording, &logs, file, options); err != nil {
				return header, nil, nil, err
			}
			recording.AddSource(string(kind) + " " + file.Server)
		}
	}
	if options.Resource == "" {
		if err := logs.OneResource(); err != nil {
			return header, nil, nil, err
		}
	}
	header, h, err = recording.History(options.HistoryOptions)
	return header, h, append(recording.Omitted(), logs.OtherResources()...), err
}

// clocks counts the sources that have a clock of their own.
func clocks(files []File) (clocks int) {
	for _, file := range files {
		if file.Kind == Audit || file.Kind == History {
			clocks++
		}
	}
	return clocks
}

func read(recording *Recording, logs *auditReader, file File, options Options) error {
	in, err := os.Open(file.Path)
	if err != nil {
		if of, is := errors.AsType[*fs.PathError](err); is {
			err = of.Err
		}
		return fmt.Errorf("%s: expected a file to import, found that it cannot be read: %w", file.Path, err)
	}
	defer in.Close()
	switch file.Kind {
	case Audit:
		return logs.Read(file.Server, file.Path, in)
	case Kubectl:
		return readKubectl(recording, file.Server, file.Path, in)
	case Etcdctl:
		if recording.Resource == "" {
			return fmt.Errorf("%s: expected the resource to be named, as it determines which keys of etcd are read, found no name", file.Path)
		}
		return readEtcdctl(recording, options.EtcdFrom, file.Path, in)
	}
	if err := addHistory(recording, in); err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	return nil
}

// addHistory adds a history, compressed or not.
func addHistory(recording *Recording, in io.Reader) error {
	content, err := traces.NewReader(in)
	if err != nil {
		return err
	}
	defer content.Close()
	header, h, err := traces.ReadValidHistory(content)
	if err != nil {
		return err
	}
	return recording.Merge(header, h)
}
