package simtest

import (
	"math/rand/v2"
	"os"

	clientfeatures "k8s.io/client-go/features"
)

// gateVariable is client-go's variable for the gate; a test that sets it pins what is otherwise drawn.
const gateVariable = "KUBE_FEATURE_" + string(clientfeatures.WatchListClient)

// drawGates draws, for half of the seeds, that informers begin with a plain list, which the watch
// cache may serve from a stale state, instead of a streaming list of a fresh state. So do informers
// of client-go before 0.35, and all others if an API server refuses streaming lists.
func drawGates(random *rand.Rand) (plainLists bool) {
	if os.Getenv(gateVariable) != "" || random.IntN(2) == 0 {
		return false
	}
	listPlainly()
	return true
}

// listPlainly makes the informers of this process begin with plain lists.
func listPlainly() {
	clientfeatures.ReplaceFeatureGates(withoutWatchList{clientfeatures.FeatureGates()})
}

// withoutWatchList are client-go's feature gates with that one off.
type withoutWatchList struct{ clientfeatures.Gates }

// Enabled implements features.Gates.
func (g withoutWatchList) Enabled(gate clientfeatures.Feature) bool {
	return gate != clientfeatures.WatchListClient && g.Gates.Enabled(gate)
}
