package traces

import (
	"fmt"
)

// leaders and windows tell how something stood from a time on, so those of one
// thing have to be in order of time.
func (v *validation) leaders() error {
	before := int64(0)
	for i, leader := range v.history.Leaders {
		at := place{kindLeader, i, fmt.Sprintf("leader %d", i+1)}
		switch {
		case leader.Time < before || !v.within(leader.Time):
			return v.bad(at, "time", v.until(before, "that of the leader before"), leader.Time)
		case leader.Term < 0:
			return v.bad(at, "term", "a term, or 0 if none led", leader.Term)
		case leader.Member == "" && leader.Term != 0:
			return v.bad(at, "term", "0, as none led", leader.Term)
		}
		before = leader.Time
	}
	return nil
}

// windows demands no order of its resourceVersions, nor that
// etcd has them: what a cache takes itself to hold is for nobody to refuse.
func (v *validation) windows() error {
	before := map[string]int64{}
	for i, window := range v.history.Windows {
		at := place{kindWindow, i, fmt.Sprintf("window %d", i+1)}
		switch {
		case window.Server == "":
			return v.bad(at, "server", "the name of a server", "")
		case window.Time < before[window.Server] || !v.within(window.Time):
			return v.bad(at, "time", v.until(before[window.Server], "that of the window of its server before"), window.Time)
		case window.Filling < 0:
			return v.bad(at, "filling", "a number from 1 on, or 0 while there is nothing to read", window.Filling)
		}
		for _, rv := range []struct {
			field string
			got   int64
		}{{"since", window.Since}, {"newest", window.Newest}} {
			if rv.got < 0 {
				return v.bad(at, rv.field, "a resourceVersion", rv.got)
			}
			if window.Filling == 0 && rv.got != 0 {
				return v.bad(at, rv.field, "0, as there is nothing to read", rv.got)
			}
		}
		before[window.Server] = window.Time
	}
	return nil
}
