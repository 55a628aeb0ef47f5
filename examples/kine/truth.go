package main

import (
	"database/sql"
	"strings"

	"github.com/watchsim/watchsim/cluster/etcd"
)

// witness makes the database record, in a table of its own, everything inserted into kine's table,
// and how far it is compacted. It is written in the same transaction as the change, so it survives
// exactly what that survives, and neither kine's queries nor its compaction read or write it.
var witness = []string{
	`CREATE TABLE IF NOT EXISTS witness (number INTEGER PRIMARY KEY, revision INTEGER, name TEXT, value BLOB, deleted INTEGER, compacted INTEGER)`,
	`CREATE TRIGGER IF NOT EXISTS witness_change AFTER INSERT ON kine BEGIN
		INSERT INTO witness (revision, name, value, deleted, compacted) VALUES (new.id, new.name, new.value, new.deleted, 0);
	END`,
	`CREATE TRIGGER IF NOT EXISTS witness_compaction AFTER UPDATE OF prev_revision ON kine WHEN new.name = 'compact_rev_key' BEGIN
		INSERT INTO witness (revision, name, deleted, compacted) VALUES (new.prev_revision, '', 0, 1);
	END`,
}

// Rows of kine's own: the compacted revision, and fillers for missing revisions.
const (
	compactRevision = "compact_rev_key"
	gap             = "gap-"
)

// committed returns what a completed run has committed.
func committed(dir string) (commits []etcd.Commit, err error) {
	path, err := nextLife(dir)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file://"+path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Query(`SELECT revision, name, value, deleted, compacted FROM witness ORDER BY number`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c etcd.Commit
		if err := rows.Scan(&c.Revision, &c.Key, &c.Value, &c.Deleted, &c.Compacted); err != nil {
			return nil, err
		}
		if c.Key != compactRevision && !strings.HasPrefix(c.Key, gap) {
			commits = append(commits, c)
		}
	}
	return commits, rows.Err()
}
