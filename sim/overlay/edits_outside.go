package overlay

// outsideEdits replace what a simulated goroutine would reach outside the
// process.
var outsideEdits = []Edit{
	after("net/dial.go", "func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (Listener, error) {\n", `	if simulated := simNet(); simulated != nil {
		return simulated.listen(ctx, network, address)
	}
`, "listeners of simulated goroutines are in the simulated network"),

	after("net/dial.go", "func (d *Dialer) DialContext(ctx context.Context, network, address string) (Conn, error) {\n", `	if simulated := simNet(); simulated != nil {
		ctx, cancel := d.dialCtx(ctx)
		defer cancel()
		return simulated.dial(ctx, network, address)
	}
`, "dials of simulated goroutines are in the simulated network"),

	after("os/proc.go", "func Exit(code int) {\n", "	simExit(code)\n",
		"a simulated process ends, and not the one that simulates it"),

	after("os/sys.go", "func Hostname() (name string, err error) {\n", `	if name, ok := simHostname(); ok {
		return name, nil
	}
`, "a simulated process has a host of its own, and runs must not depend on how the machine is called"),

	after(systemCalls, "func Getpid() (pid int) {\n", `	if simActive() {
		return simPid
	}
`, "the number of a process is another one in each run"),

	after("os/exec.go", "	testlog.Open(name)\n", `	if simActive() {
		return nil, &PathError{Op: "fork/exec", Path: name, Err: errSimProcess}
	}
`, "what another process does does not follow from the seed"),

	after("runtime/debug.go", "func GOMAXPROCS(n int) int {\n", `	if simActive() {
		return 1
	}
`, "a simulated program has one processor, whatever it asks for"),

	after("runtime/debug.go", "func NumCPU() int {\n", `	if simActive() {
		return 1
	}
`, "neither must they depend on how many processors the machine has"),

	replace("os/signal/signal.go", `	"sync"
)
`, `	"sync"
	_ "unsafe" // for go:linkname
)

//go:linkname simActive runtime.simActive
func simActive() bool
`, ""),

	after("os/signal/signal.go", `		panic("os/signal: Notify using nil channel")
	}
`, `	if simActive() {
		return
	}
`, "no signal reaches a simulated goroutine, and what waits for them is a thread that a copy does not have"),
}
