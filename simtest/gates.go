package simtest

import (
	"math/rand/v2"
	"os"

	clientfeatures "k8s.io/client-go/features"
)

// gateVariable is what client-go reads, and with which a test pins what is drawn otherwise.
const gateVariable = "KUBE_FEATURE_" + string(clientfeatures.WatchListClient)

// drawGates draws, for half of the seeds, that informers begin with a plain list of what the
// watch cache has, however old, instead of a streaming list of a state that is fresh. So do
// those of client-go before 0.35, and all others where an API server refuses streaming lists.
func drawGates(random *rand.Rand) (plainLists bool) {
	if os.Getenv(gateVariable) != "" || random.IntN(2) == 0 {
		return false
	}
	listPlainly()
	return true
}

// listPlainly has the informers of this process begin with plain lists.
func listPlainly() {
	clientfeatures.ReplaceFeatureGates(withoutWatchList{clientfeatures.FeatureGates()})
}

// withoutWatchList are client-go's feature gates but for one that is off.
type withoutWatchList struct{ clientfeatures.Gates }

// Enabled implements features.Gates.
func (g withoutWatchList) Enabled(gate clientfeatures.Feature) bool {
	return gate != clientfeatures.WatchListClient && g.Gates.Enabled(gate)
}
