// Finding 23: a VolumeSnapshot never becomes ready if the response to the creation of its content is lost.
package main

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/transport"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/snapshots"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	client := snapshots.Start(transport.Wrappers(rig.Wrap(lossy), snapshots.Late(200*time.Millisecond)), nil, &snapshots.Storage{})
	snapshot := snapshots.Create(client, "snapshot")
	rig.Until(func() bool {
		content := snapshots.Content(client, snapshot)
		return content != nil && content.Status != nil && *content.Status.ReadyToUse
	})
	time.Sleep(60 * time.Second)
	rig.VerdictOfOne(!snapshots.Ready(client, "snapshot"), "a VolumeSnapshot is not ready, 60s after its content was,")
}

var lost atomic.Bool

// lossy loses the response to the first creation of a content.
func lossy(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
	response, err := inner.RoundTrip(request)
	if err == nil && request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/volumesnapshotcontents") && lost.CompareAndSwap(false, true) {
		response.Body.Close()
		return nil, errors.New("the connection was lost")
	}
	return response, err
}
