package overlay

import (
	"runtime"
	"slices"
)

// fileEdits keep files below /simulated in memory, whoever uses them: a copy of the
// process has copies of them, and nothing of them is left when it ends. What simulated
// goroutines sync goes to a simulated disk.
var fileEdits = slices.Concat([]Edit{
	replace("syscall/syscall_linux.go", `	runtime_entersyscall()
	// N.B. Calling RawSyscall here is unsafe with atomic coverage
`, `	if r1, err, ok := simRaw(trap, a1, a2, a3, 0, 0, 0); ok {
		return r1, 0, err
	}
	runtime_entersyscall()
	// N.B. Calling RawSyscall here is unsafe with atomic coverage
`, "calls that do not come from package syscall"),

	replace("syscall/syscall_linux.go", `	runtime_entersyscall()
	r1, r2, err = RawSyscall6(trap, a1, a2, a3, a4, a5, a6)
`, `	if r1, err, ok := simRaw(trap, a1, a2, a3, a4, a5, a6); ok {
		return r1, 0, err
	}
	runtime_entersyscall()
	r1, r2, err = RawSyscall6(trap, a1, a2, a3, a4, a5, a6)
`, "calls that do not come from package syscall"),
	inReadOrWrite("Read(fd int, p []byte)", "read(fd, p, -1)"),
	inReadOrWrite("Write(fd int, p []byte)", "write(fd, p, -1)"),
	inReadOrWrite("Pread(fd int, p []byte, offset int64)", "read(fd, p, offset)"),
	inReadOrWrite("Pwrite(fd int, p []byte, offset int64)", "write(fd, p, offset)"),

	after("os/removeall_at.go", "func removeAll(path string) error {\n", `	if handled, err := simRemoveAll(path); handled {
		return err
	}
`, "a folder in memory"),
}, inSystemCalls)

// inReadOrWrite has a function of package syscall do something to a file in memory.
func inReadOrWrite(function, does string) Edit {
	return after("syscall/syscall_unix.go", "func "+function+" (n int, err error) {\n", `	if simOf(fd) {
		n, errno := simFileSystem().`+does+`
		return n, simErr(errno)
	}
`, "a file in memory")
}

// systemCalls is the file of package syscall with a function for each system call.
const systemCalls = "syscall/zsyscall_linux_" + runtime.GOARCH + ".go"

// inSystemCalls edit that file.
var inSystemCalls = func() []Edit {
	var edits []Edit
	for _, call := range []struct{ signature, body string }{
		{"openat(dirfd int, path string, flags int, mode uint32) (fd int, err error)",
			"if simIn(path) {\n\t\tfd, errno := simFileSystem().open(path, flags, mode)\n\t\treturn fd, simErr(errno)\n\t}"},
		{"Close(fd int) (err error)", "if simOf(fd) {\n\t\treturn simErr(simFileSystem().close(fd))\n\t}"},
		{"Seek(fd int, offset int64, whence int) (off int64, err error)",
			"if simOf(fd) {\n\t\toff, errno := simFileSystem().seek(fd, offset, whence)\n\t\treturn off, simErr(errno)\n\t}"},
		{"Fstat(fd int, stat *Stat_t) (err error)", "if simOf(fd) {\n\t\treturn simErr(simFileSystem().stat(\"\", fd, stat))\n\t}"},
		{statAt, "if simIn(path) {\n\t\treturn simErr(simFileSystem().stat(path, 0, stat))\n\t}"},
		{"Ftruncate(fd int, length int64) (err error)", "if simOf(fd) {\n\t\treturn simErr(simFileSystem().truncate(\"\", fd, length))\n\t}"},
		{"Truncate(path string, length int64) (err error)", "if simIn(path) {\n\t\treturn simErr(simFileSystem().truncate(path, 0, length))\n\t}"},
		{"Fallocate(fd int, mode uint32, off int64, len int64) (err error)",
			"if simOf(fd) {\n\t\treturn simErr(simGrow(fd, mode, off, len))\n\t}"},
		{"Getdents(fd int, buf []byte) (n int, err error)",
			"if simOf(fd) {\n\t\tn, errno := simFileSystem().list(fd, buf)\n\t\treturn n, simErr(errno)\n\t}"},
		{"Mkdirat(dirfd int, path string, mode uint32) (err error)", "if simIn(path) {\n\t\treturn simErr(simFileSystem().mkdir(path, mode))\n\t}"},
		{"unlinkat(dirfd int, path string, flags int) (err error)",
			"if simIn(path) {\n\t\treturn simErr(simFileSystem().remove(path, flags&_AT_REMOVEDIR != 0))\n\t}"},
		{"Renameat(olddirfd int, oldpath string, newdirfd int, newpath string) (err error)",
			"if simIn(oldpath) {\n\t\treturn simErr(simFileSystem().rename(oldpath, newpath))\n\t}"},
		{"faccessat(dirfd int, path string, mode uint32) (err error)",
			"if simIn(path) {\n\t\tvar stat Stat_t\n\t\treturn simErr(simFileSystem().stat(path, 0, &stat))\n\t}"},
		{"Fchmod(fd int, mode uint32) (err error)", "if simOf(fd) {\n\t\treturn nil\n\t}"},
		{"fchmodat(dirfd int, path string, mode uint32) (err error)", "if simIn(path) {\n\t\treturn nil\n\t}"},
		{"utimensat(dirfd int, path string, times *[2]Timespec, flag int) (err error)", "if simIn(path) {\n\t\treturn nil\n\t}"},
		{"Flock(fd int, how int) (err error)", "if simOf(fd) {\n\t\treturn nil\n\t}"},
		{"Fsync(fd int) (err error)", "if simSync(fd) {\n\t\treturn nil\n\t}"},
		{"Fdatasync(fd int) (err error)", "if simSync(fd) {\n\t\treturn nil\n\t}"},
		// A descriptor that cannot be polled is not.
		{"fcntl(fd int, cmd int, arg int) (val int, err error)", "if simOf(fd) {\n\t\treturn 0, ENOSYS\n\t}"},
	} {
		edits = append(edits, after(systemCalls, "func "+call.signature+" {\n", "\t"+call.body+"\n", "a file in memory"))
	}
	return edits
}()

// statAt is what the architecture calls its function for stat and lstat.
var statAt = map[string]string{
	"amd64": "fstatat(fd int, path string, stat *Stat_t, flags int) (err error)",
	"arm64": "fstatat(dirfd int, path string, stat *Stat_t, flags int) (err error)",
}[runtime.GOARCH]
