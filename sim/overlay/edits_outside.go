package overlay

import "runtime"

// outsideEdits replace what a simulated goroutine would reach outside the
// process.
var outsideEdits = []edit{
	after("net/dial.go", "func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (Listener, error) {\n", `	if simListen != nil && simActive() {
		return simListen(ctx, network, address)
	}
`, "listeners of simulated goroutines are in the simulated network"),

	after("net/dial.go", "func (d *Dialer) DialContext(ctx context.Context, network, address string) (Conn, error) {\n", `	if simDial != nil && simActive() {
		ctx, cancel := d.dialCtx(ctx)
		defer cancel()
		return simDial(ctx, network, address)
	}
`, "dials of simulated goroutines are in the simulated network"),

	after(systemCalls, "func Fsync(fd int) (err error) {\n", syncSimulated, "what simulated goroutines sync goes to a simulated disk"),
	after(systemCalls, "func Fdatasync(fd int) (err error) {\n", syncSimulated, "what simulated goroutines sync goes to a simulated disk"),
}

const (
	systemCalls   = "syscall/zsyscall_linux_" + runtime.GOARCH + ".go"
	syncSimulated = `	if simSync != nil && simActive() {
		simSync(fd)
		return nil
	}
`
)
