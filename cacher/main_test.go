package cacher

import (
	"flag"
	"os"
	"runtime"
	"testing"
)

// TestMain makes the tests run concurrently. Kubernetes' suite gives an object a TTL of a second
// and reads it in parallel subtests, one of which waits for seconds; one after the other, as with
// one P, the object is gone.
func TestMain(m *testing.M) {
	flag.Parse()
	if runtime.GOMAXPROCS(0) < 8 {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
