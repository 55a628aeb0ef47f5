//go:build watchsim

package simtest_test

import (
	"time"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/simtest"
)

func init() {
	options := httpserver.Options{EventTTL: 10 * time.Second}
	simtest.Register(briefKubernetes, func() target.Servers { return httpserver.New(options) })
	simtest.Register(cborKubernetes, func() target.Servers {
		if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.CBORServingAndStorage): true}); err != nil {
			panic(err) // a gate that API servers no longer have
		}
		return httpserver.New(options)
	})
	simtest.Register(briefWatchsim, func() target.Servers { return cacher.NewWeb(options) })
}
