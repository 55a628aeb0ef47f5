package rig

import "k8s.io/apimachinery/pkg/watch"

// Forward returns a watch that delivers the events of another one, each once a function has returned that is called for it.
func Forward(from watch.Interface, wait func()) *watch.RaceFreeFakeWatcher {
	to := watch.NewRaceFreeFake()
	go func() {
		for event := range from.ResultChan() {
			wait()
			to.Action(event.Type, event.Object)
		}
	}()
	return to
}
