package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
)

// A plan is drawn for a cluster, printed, and read back.
func ExampleGenerate() {
	plan, err := faults.Generate(rand.New(rand.NewPCG(7, 0)), faults.GeneratorConfig{
		Topology: faults.Topology{Members: []string{"etcd-0"}, Servers: []string{"apiserver-0"}},
		Kinds:    []string{"etcd-restart", "compaction"}, Every: true, MaxCount: 2,
		Start: time.Second, HealBy: 30 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	again, err := faults.Parse(plan.String())
	fmt.Println(len(again) == len(plan), err)
	// Output:
	// # watchsim plan v1
	// at 4.124s compaction revision=current
	// between 8.393s and 9.852s on sync 4 of etcd-0 etcd-restart member=etcd-0
	// between 12.301s and 15.373s on watch 1 of apiserver-0 etcd-restart member=etcd-0
	// between 17.557s and 19.22s on watch-lost 1 of apiserver-0 compaction revision=current-48
	// between 20.316s and 24.092s on client-write 8 of apiserver-0 compaction revision=current
	// at 24.366s etcd-restart member=etcd-0
	// true <nil>
}

// A failure needs the faults 3 and 7 of ten.
func ExampleMinimise() {
	fmt.Println(faults.Minimise([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, faults.EveryItem, func(candidates [][]int) int {
		return slices.IndexFunc(candidates, func(left []int) bool { return slices.Contains(left, 3) && slices.Contains(left, 7) })
	}))
	// Output: [3 7]
}
