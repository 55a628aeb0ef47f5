package campaign

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Merged holds the results of a campaign, from the files of its shards.
type Merged struct {
	*Summary
	first string   // the file that decides which campaign this is
	files []string // by shard
	lines []line
}

// line is the location of a result.
type line struct {
	seed  uint64
	shard int
	at    position
}

// Merge reads results files, and those in folders. All must be of one campaign, and no two of the
// same shard. Shards may be missing or still running.
func Merge(paths []string) (*Merged, error) {
	paths, err := expand(paths)
	if err != nil {
		return nil, err
	}
	m := &Merged{}
	for _, path := range paths {
		if err := m.add(path); err != nil {
			return nil, err
		}
	}
	if m.Summary == nil {
		return nil, fmt.Errorf("%w: expected results, found nothing in %s yet", ErrResults, strings.Join(paths, ", "))
	}
	slices.SortFunc(m.lines, func(a, b line) int { return cmp.Compare(a.seed, b.seed) })
	m.findMissing()
	m.finish()
	return m, nil
}

// expand replaces folders by the results files in them.
func expand(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%w: expected the results of a shard, or a folder with such, found none: %w", ErrResults, err)
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		found, err := filesIn(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: expected files such as %s in %s, found none", ErrResults, Whole.FileName(), path)
		}
		all = append(all, found...)
	}
	return all, nil
}

func filesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResults, err)
	}
	var found []string
	for _, entry := range entries {
		if matches, _ := filepath.Match(filePattern, entry.Name()); matches {
			found = append(found, filepath.Join(folder, entry.Name()))
		}
	}
	return found, nil
}

// add adds the results of one shard, if it has written its header yet.
func (m *Merged) add(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrResults, err)
	}
	defer file.Close()
	var shard int
	_, err = readResults(path, file, func(header Header) error {
		shard = header.Index
		return m.begin(path, header)
	}, func(result Result, at position) {
		m.Add(result, filepath.Dir(path))
		m.lines = append(m.lines, line{result.Seed, shard, at})
	})
	return err
}

// begin notes the file of a shard. The first one decides which campaign this is.
func (m *Merged) begin(path string, header Header) error {
	if m.Summary == nil {
		whole := header
		whole.Shard = Whole
		m.Summary, m.first, m.files = NewSummary(whole), path, make([]string, header.Count)
	}
	wanted := m.header
	wanted.Count = len(m.files)
	if difference := header.difference(wanted); difference != "" {
		return fmt.Errorf("%w: %s and %s are of different campaigns: %s", ErrResults, m.first, path, difference)
	}
	if other := m.files[header.Index-1]; other != "" {
		return fmt.Errorf("%w: expected the results of shard %s once, found them in %s and in %s", ErrResults, header.Shard, other, path)
	}
	m.files[header.Index-1] = path
	return nil
}

// findMissing lists the shards without a file, and the lowest seeds without a result. It requires
// sorted lines.
func (m *Merged) findMissing() {
	for i, path := range m.files {
		if path == "" {
			m.MissingShards = append(m.MissingShards, i+1)
		}
	}
	next := m.First
	for _, line := range m.lines {
		for ; next < line.seed && len(m.MissingSeeds) < seedsShown; next++ {
			m.MissingSeeds = append(m.MissingSeeds, next)
		}
		next = line.seed + 1
	}
	for left := m.Seeds - m.Done - uint64(len(m.MissingSeeds)); left > 0 && len(m.MissingSeeds) < seedsShown; left-- {
		m.MissingSeeds = append(m.MissingSeeds, next)
		next++
	}
}

// WriteResults writes the results of all shards as one shard of the whole range, in the order of
// seeds. The file can be merged, and a campaign of one shard can resume it.
func (m *Merged) WriteResults(w io.Writer) error {
	out := bufio.NewWriter(w)
	err := json.NewEncoder(out).Encode(m.header)
	if err != nil {
		return err
	}
	open := make([]*os.File, len(m.files))
	for i, path := range m.files {
		if path == "" {
			continue
		}
		if open[i], err = os.Open(path); err != nil {
			return err
		}
		defer open[i].Close()
	}
	for _, line := range m.lines {
		if _, err := io.Copy(out, io.NewSectionReader(open[line.shard-1], line.at.offset, line.at.length)); err != nil {
			return err
		}
	}
	return out.Flush()
}
