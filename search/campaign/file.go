package campaign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// syncEvery is the real time after which an appended line is safe from a power failure. A mere kill
// loses nothing that was appended.
const syncEvery = time.Second

// File is the results file that a shard appends to. It is used by one goroutine.
type File struct {
	file   *fileutil.LockedFile
	synced time.Time
}

// Open creates a shard's file in a folder, or resumes it, and calls each with the results that it
// already holds. It refuses the file of another campaign, and one that another process is writing
// to.
func Open(folder string, header Header, each func(Result)) (*File, error) {
	path := filepath.Join(folder, header.FileName())
	locked, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("%w: %s: expected to be alone with it, found another process writing to it", ErrResults, path)
	}
	if err != nil {
		return nil, notWritten(err)
	}
	f := &File{file: locked}
	if err := f.resume(path, header, each); err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	return f, nil
}

// resume reads the file, truncates an incomplete last line, and writes the header if there is none.
func (f *File) resume(path string, header Header, each func(Result)) error {
	var held []Result
	end, err := readResults(path, f.file, func(there Header) error {
		difference := there.difference(header)
		if difference == "" && there.Index != header.Index {
			difference = fmt.Sprintf("expected shard %s, found %s", header.Shard, there.Shard)
		}
		if difference != "" {
			return fmt.Errorf("%w: %s is of another campaign: %s; give another --out, or move the file away", ErrResults, path, difference)
		}
		return nil
	}, func(result Result, _ position) { held = append(held, result) })
	if err != nil {
		return err
	}
	if err := f.file.Truncate(end); err != nil {
		return notWritten(err)
	}
	if _, err := f.file.Seek(end, io.SeekStart); err != nil {
		return notWritten(err)
	}
	if end == 0 {
		if err := f.begin(filepath.Dir(path), header); err != nil {
			return err
		}
	}
	for _, result := range held {
		each(result)
	}
	return nil
}

// begin writes the header, and syncs the folder. Artifacts in a folder without results are those of
// a campaign whose results were moved away.
func (f *File) begin(folder string, header Header) error {
	failures, _ := os.ReadDir(ArtifactsFolder(folder))
	if results, err := filesIn(folder); err == nil && len(results) == 1 && len(failures) > 0 {
		return fmt.Errorf("%w: expected no artifacts where there are no results, found %d in %s; give another --out, or move them away",
			ErrResults, len(failures), ArtifactsFolder(folder))
	}
	if err := cmp.Or(f.write(header), f.Sync()); err != nil {
		return err
	}
	dir, err := fileutil.OpenDir(folder)
	if err == nil {
		err = errors.Join(fileutil.Fsync(dir), dir.Close())
	}
	return notWritten(err)
}

// notWritten says what an error, if it is one, has prevented.
func notWritten(err error) error {
	if err != nil {
		err = fmt.Errorf("cannot write results: %w", err)
	}
	return err
}

// Append adds a result.
func (f *File) Append(result Result) error {
	result.Folder = "" // a path on this machine, possibly short-lived
	if err := f.write(result); err != nil {
		return err
	}
	if time.Since(f.synced) < syncEvery {
		return nil
	}
	return f.Sync()
}

// write appends a line in one call, so that a kill leaves it whole or absent.
func (f *File) write(value any) error {
	return notWritten(json.NewEncoder(f.file).Encode(value))
}

// Sync makes all appended lines durable.
func (f *File) Sync() error {
	f.synced = time.Now()
	return notWritten(fileutil.Fdatasync(f.file.File))
}

// Close syncs and closes the file, and releases its lock.
func (f *File) Close() error { return errors.Join(f.Sync(), f.file.Close()) }
