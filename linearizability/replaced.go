package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// storageRestart is the name of the fault that replaces a server's storage and cache while
// the server goes on serving. Its watches stay on the old cache until that stops, so that
// for a while one server shows two caches.
const storageRestart = "storage-restart"

// replaced reports whether the storage of a server may have been replaced between two
// times: of what was called from the first on and had come by the second, some may have
// come from one cache and the rest from another.
func (f *facts) replaced(server string, from, to int64) bool {
	return slices.ContainsFunc(f.replacements[server], func(fault *model.Fault) bool {
		return fault.End >= from && fault.Begin <= to
	})
}

func replacementsOf(h *model.History) map[string][]*model.Fault {
	all := map[string][]*model.Fault{}
	for fault := range model.Each(h.Faults) {
		if fault.Name == storageRestart {
			for _, server := range fault.Processes {
				all[server] = append(all[server], fault)
			}
		}
	}
	return all
}
