package scenario_test

import (
	"fmt"

	"github.com/watchsim/watchsim/cluster/scenario"
)

// A scenario from the catalogue is altered, as --set does. simrun, which knows the targets, starts
// the runs.
func ExampleSpec_Set() {
	spec, err := scenario.Named("minute")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Set("members", "3"), spec.Set("members", "many"))
	fmt.Println(spec.Unusual(), spec.Validate())
	// Output:
	// <nil> invalid knob: members: expected a value such as 1, 3, found "many"
	// [members=3] <nil>
}
