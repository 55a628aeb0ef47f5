package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// syncEvery is how much real time may pass until what was appended is safe from
// a machine that loses power. What was appended before a mere kill is never lost.
const syncEvery = time.Second

// File is what a shard appends its results to. One goroutine uses it.
type File struct {
	file   *fileutil.LockedFile
	synced time.Time
}

// Open creates the file of a shard in a folder, or resumes it, and calls each
// with the results that it holds already. It refuses the file of another
// campaign, and one that another process is writing to.
func Open(folder string, header Header, each func(Result)) (*File, error) {
	path := filepath.Join(folder, header.FileName())
	locked, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("%w: %s: expected to be alone with it, found another process writing to it", ErrResults, path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write results: %w", err)
	}
	f := &File{file: locked}
	if err := f.resume(path, header, each); err != nil {
		return nil, errors.Join(err, locked.Close())
	}
	return f, nil
}

// resume reads what is there, cuts half a last line off, and writes the header
// if there is none.
func (f *File) resume(path string, header Header, each func(Result)) error {
	var held []Result
	there, found, end, err := readResults(path, f.file, func(result Result, _ position) error {
		held = append(held, result)
		return nil
	})
	if err != nil {
		return err
	}
	if found {
		difference := there.difference(header)
		if difference == "" && there.Index != header.Index {
			difference = fmt.Sprintf("expected shard %s, found %s", header.Shard, there.Shard)
		}
		if difference != "" {
			return fmt.Errorf("%w: %s is of another campaign: %s; give another --out, or move the file away", ErrResults, path, difference)
		}
	}
	if err := f.file.Truncate(end); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	if _, err := f.file.Seek(end, io.SeekStart); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	if !found {
		if err := f.begin(filepath.Dir(path), header); err != nil {
			return err
		}
	}
	for _, result := range held {
		each(result)
	}
	return nil
}

// begin writes the header, and makes sure that the file is in its folder. Artifacts that
// lie there without any results are those of a campaign whose results were moved away.
func (f *File) begin(folder string, header Header) error {
	failures, _ := os.ReadDir(ArtifactsFolder(folder))
	if results, err := filepath.Glob(filepath.Join(folder, filePattern)); err == nil && len(results) == 1 && len(failures) > 0 {
		return fmt.Errorf("%w: expected no artifacts where there are no results, found %d in %s; give another --out, or move them away",
			ErrResults, len(failures), ArtifactsFolder(folder))
	}
	if err := f.write(header); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	dir, err := fileutil.OpenDir(folder)
	if err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	defer dir.Close()
	if err := fileutil.Fsync(dir); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	return nil
}

// Append adds a result.
func (f *File) Append(result Result) error {
	result.Folder = "" // a path of this machine, and maybe soon gone
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
	line, err := json.Marshal(value)
	if err == nil {
		_, err = f.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	return nil
}

// Sync makes what was appended safe.
func (f *File) Sync() error {
	f.synced = time.Now()
	if err := fileutil.Fdatasync(f.file.File); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	return nil
}

// Close makes everything safe and lets others have the file.
func (f *File) Close() error { return errors.Join(f.Sync(), f.file.Close()) }
