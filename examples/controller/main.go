// Command controller copies the ConfigMap default/settings to all other namespaces.
package main

import (
	"context"
	"log"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err == nil {
		err = Run(ctx, config, Options{})
	}
	if err != nil {
		log.Fatal(err)
	}
}
