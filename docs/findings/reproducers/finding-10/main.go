// Finding 10: an owner is deleted and recreated before an informer of the garbage collector relists. The first owner's dependents
// are not collected until the collector restarts.
package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	fakemetadata "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	client, objects := collector.Client(
		collector.ConfigMap("gone", "1", "", ""), collector.ConfigMap("of-gone", "2", "gone", "1"),
		collector.ConfigMap("again", "3", "", ""), collector.ConfigMap("of-again", "4", "again", "3"))
	watches := silent(client)

	stop := collector.Run(client)
	watching := <-watches
	for _, name := range []string{"gone", "again"} {
		rig.Must(objects.Delete(context.Background(), name, metav1.DeleteOptions{}))
	}
	rig.Value(objects.CreateFake(collector.ConfigMap("again", "5", "", ""), metav1.CreateOptions{}))
	watching.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}) // the informer relists
	fmt.Printf("dependent of an owner that is gone when the informer relists: %s\n", collector.Fate(objects, "of-gone"))
	collector.Conclude(client, objects, stop, "dependent of an owner that is recreated before that", "of-again")
}

// silent makes the watches of a client deliver only what is sent to them, as if the API server lagged.
func silent(client *fakemetadata.FakeMetadataClient) <-chan *watch.RaceFreeFakeWatcher {
	opened := make(chan *watch.RaceFreeFakeWatcher, 10)
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewRaceFreeFake()
		opened <- w
		return true, w, nil
	})
	return opened
}
