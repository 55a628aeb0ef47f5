package etcd35

import (
	"math/rand"
	"sync"
	_ "unsafe" // for go:linkname
)

// elections is the source of raft's election timeouts. This release seeds it with the time at which
// the process began.
//
//go:linkname elections go.etcd.io/etcd/raft/v3.globalRand
var elections *struct {
	mu   sync.Mutex
	rand *rand.Rand
}

// init makes raft draw from the process-wide numbers, which follow the seed in a simulation.
func init() { elections.rand = rand.New(process{}) }

// process is a rand.Source of the numbers that package rand's top-level functions draw.
type process struct{}

func (process) Int63() int64 { return rand.Int63() }
func (process) Seed(int64)   {}
