package etcd

import "fmt"

// Restored is the state in which a restored member starts.
type Restored struct {
	// Applied is the last log entry of the old member that the state contains.
	Applied uint64
	// Revision is the first revision if it was raised, otherwise 0.
	Revision int64
}

// Restore creates a member's data folder, config.Dir, from the database of a stopped
// member in the folder from, as "etcdutl snapshot restore" does: the new member is
// alone in a new cluster, and its log starts empty. The revision is raised by bump, and
// everything before is marked as compacted; with 0 neither happens.
//
// It uses files and starts goroutines, so in a simulation it must be called from a
// process.
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
