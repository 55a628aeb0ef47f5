package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchsim/watchsim/cluster/etcd"
)

// record is a line of the log: the changes of one request.
type record struct {
	Revision int64    `json:"revision,omitempty"`
	Changes  []change `json:"changes,omitempty"`
	Compact  int64    `json:"compact,omitempty"`
	Grant    int64    `json:"grant,omitempty"` // a lease, of TTL seconds
	TTL      int64    `json:"ttl,omitempty"`
	Revoke   int64    `json:"revoke,omitempty"` // a lease, with the keys among the changes
}

// change is the new state of a key.
type change struct {
	Key     string `json:"key"`
	Value   []byte `json:"value,omitempty"`
	Lease   int64  `json:"lease,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

func logOf(dir string) string { return filepath.Join(dir, "log") }

// line returns the record as a line of the log, after its checksum.
func (r record) line() []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a record has nothing that JSON lacks
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text)
}

// readLog reads the log up to the first incomplete line, which a crash has truncated before it was
// acknowledged. size is the number of complete bytes.
func readLog(dir string) (records []record, size int64, err error) {
	content, err := os.ReadFile(logOf(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	for err == nil {
		line, rest, whole := bytes.Cut(content, []byte("\n"))
		sum, text, _ := bytes.Cut(line, []byte(" "))
		if !whole || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) {
			break
		}
		var next record
		if err = json.Unmarshal(text, &next); err == nil {
			records, size, content = append(records, next), size+int64(len(line))+1, rest
		}
	}
	return records, size, err
}

// commit writes a record to the log, waits until it is on the disk, and applies it. The caller
// holds the lock.
func (s *store) commit(r record) error {
	line := r.line()
	_, err := s.log.Write(line)
	if s.mistakes.lazy {
		go func() { _ = s.log.Sync() }()
	} else if err == nil {
		err = s.log.Sync()
	}
	if err != nil {
		return errors.Join(err, s.log.Truncate(s.size)) // records after an incomplete line would be lost
	}
	s.size += int64(len(line))
	s.apply(r)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// committed returns what a run has committed. The log has all of it, as nothing is ever removed.
func committed(dir string) (commits []etcd.Commit, err error) {
	records, _, err := readLog(dir)
	for _, r := range records {
		if r.Compact != 0 {
			commits = append(commits, etcd.Commit{Revision: r.Compact, Compacted: true})
		}
		for _, c := range r.Changes {
			commits = append(commits, etcd.Commit{
				Revision: r.Revision, Key: c.Key, Value: c.Value, Deleted: c.Deleted, Expired: c.Deleted && r.Revoke != 0,
			})
		}
	}
	return commits, err
}
