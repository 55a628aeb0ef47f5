package overlay

// An edit replaces one piece of one of Go's own files. The anchor must occur
// exactly once, so that a Go release that changed the place stops the build
// instead of being patched wrongly, or not at all.
type edit struct {
	file        string // below GOROOT/src
	anchor      string
	replacement string
	why         string
}

// replace is an edit that puts text in the place of the anchor.
func replace(file, anchor, text, why string) edit {
	return edit{file, anchor, text, why}
}

// after is an edit that keeps the anchor and adds text behind it.
func after(file, anchor, text, why string) edit {
	return edit{file, anchor, anchor + text, why}
}

// goEdits is everything the simulation needs of the Go toolchain. Each edit is
// guarded: it acts only on the goroutines of a running simulation, but for the
// few that are marked as process-wide.
var goEdits = concat(schedulerEdits, bubbleEdits, timerEdits, clockEdits, randomEdits, mapEdits, syncEdits, memoryEdits, outsideEdits, fileEdits, tableEdits)

func concat(groups ...[]edit) []edit {
	var all []edit
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

// tableEdits let the project's own code find what was added.
var tableEdits = []edit{
	replace("runtime/runtime.go", "func getAuxv() []uintptr { return auxv }\n", "func getAuxv() []uintptr { return simAuxiliary() }\n",
		"the table of the kernel's functions"),
}
