// Finding 9: the garbage collector does not verify an owner reference whose name or kind changes but whose UID stays
// the same. The dependent stays until the collector restarts.
package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/collector"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	client, objects := collector.Client(collector.ConfigMap("owner", "1", "", ""), collector.ConfigMap("changed", "2", "owner", "1"))

	stop := collector.Run(client)
	rig.Value(objects.CreateFake(collector.ConfigMap("created", "3", "nobody", "1"), metav1.CreateOptions{}))
	fmt.Printf("created with a reference to the owner's UID under another name: %s\n", collector.Fate(objects, "created"))
	rig.Value(objects.UpdateFake(collector.ConfigMap("changed", "2", "nobody", "1"), metav1.UpdateOptions{}))
	collector.Conclude(client, objects, stop, "a valid reference changed to the same", "changed")
}
