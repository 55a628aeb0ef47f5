package etcd

import "fmt"

// Restored is what a restored member begins with.
type Restored struct {
	// Applied is the last log entry of the old member that it holds the effect of.
	Applied uint64
	// Revision is what it begins at if that was raised, or 0.
	Revision int64
}

// Restore makes the data folder of a member, config.Dir, of the database in from, the
// folder of one that has stopped, as "etcdutl snapshot restore" does: the new member
// is alone in a cluster of its own, and its log starts empty. The revision is raised by
// bump and everything up to there counts as compacted; with 0 neither happens.
//
// It uses files and starts goroutines, so in a simulation it belongs to a process.
func Restore(config Config, from string, bump int64) (restored Restored, err error) {
	settings, err := config.embedded(newWatchRegister(config.Injection))
	if err == nil {
		restored.Applied, restored.Revision, err = config.Release.Restore(settings, from, bump)
	}
	if err != nil {
		return Restored{}, fmt.Errorf("restore etcd member %q: %w", config.Name, err)
	}
	return restored, nil
}
