// Command write makes the toolchain overlay in a folder, for the Go module in
// the current folder, and prints the flags to build with. The Makefile runs it
// before every build.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/watchsim/watchsim/sim/overlay"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "expected one argument, the folder to write to, found %d\n", len(os.Args)-1)
		os.Exit(2)
	}
	toolchain, err := overlay.Installed()
	if err == nil {
		var build overlay.Build
		if build, err = overlay.Write(toolchain, overlay.Project{Dir: "."}, os.Args[1]); err == nil {
			fmt.Println(strings.Join(build.Flags(), " "))
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
