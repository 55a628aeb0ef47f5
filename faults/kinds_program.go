package faults

// programKinds are about programs that use a cluster, such as controllers.
func programKinds() []Kind {
	return []Kind{{
		Name: "program-crash",
		Doc: "Kills a program that uses the cluster and starts it again after a while. " +
			"What it wrote stays; what it had only decided or remembered is gone.",
		Parameters: []Parameter{parameterProgram, parameterDown},
		slow:       true,
		switches:   true,
		begin:      func(a action) (string, error) { return "", a.CrashProgram(a.Program) },
		end:        func(a action) error { return a.StartProgram(a.Program) },
	}}
}
