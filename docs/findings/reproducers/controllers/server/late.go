package server

import (
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/transport"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Late delays everything that the watches of a resource deliver, as a busy API server does.
func Late(resource string, by time.Duration) transport.WrapperFunc {
	return rig.After(func(request *http.Request, response *http.Response) {
		if request.URL.Query().Get("watch") == "true" && strings.HasSuffix(request.URL.Path, "/"+resource) {
			response.Body = newLateBody(response.Body, by)
		}
	})
}

type chunk struct {
	data []byte
	err  error
	due  time.Time
}

type lateBody struct {
	io.Closer
	chunks chan chunk
	last   chunk
}

func newLateBody(body io.ReadCloser, by time.Duration) *lateBody {
	b := &lateBody{Closer: body, chunks: make(chan chunk, 10000)}
	go func() {
		for {
			data := make([]byte, 4096)
			n, err := body.Read(data)
			b.chunks <- chunk{data[:n], err, time.Now().Add(by)}
			if err != nil {
				return
			}
		}
	}()
	return b
}

func (b *lateBody) Read(p []byte) (int, error) {
	if len(b.last.data) == 0 && b.last.err == nil {
		b.last = <-b.chunks
		time.Sleep(time.Until(b.last.due))
	}
	n := copy(p, b.last.data)
	b.last.data = b.last.data[n:]
	if len(b.last.data) == 0 {
		return n, b.last.err
	}
	return n, nil
}
