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
}
