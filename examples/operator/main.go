// Command operator runs databases: for each Database it creates as many pods as the database has
// servers, and a volume for each of them. Volumes outlive their pods, and are deleted with the
// database.
package main

import (
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	var options Options
	flag.StringVar(&options.Metrics, "metrics", ":8080", "serve metrics at this address; 0 for nowhere")
	flag.StringVar(&options.Lead, "lead", "default", "the namespace of the lease by which replicas elect a leader; empty for the only one")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := Run(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), options); err != nil {
		ctrl.Log.Error(err, "the operator has ended")
		os.Exit(1)
	}
}
