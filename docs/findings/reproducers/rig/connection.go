package rig

import (
	"bytes"
	"io"
	"net/http"
)

// Before has clients call a function before each of their requests is sent. It is for the method Wrap of their configuration.
func Before(do func(*http.Request)) func(http.RoundTripper) http.RoundTripper {
	return Wrap(func(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
		do(request)
		return inner.RoundTrip(request)
	})
}

// After is like Before, with a function that is called after each request that is answered. It may change the response.
func After(do func(*http.Request, *http.Response)) func(http.RoundTripper) http.RoundTripper {
	return Wrap(func(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(request)
		if err == nil {
			do(request, response)
		}
		return response, err
	})
}

// Body returns the body of a response, which its client can still read.
func Body(response *http.Response) []byte {
	body := Value(io.ReadAll(response.Body))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// Watching is like Before, with a function that is called when a watch has received something, which its client gets once the function has returned.
func Watching(do func(path string)) func(http.RoundTripper) http.RoundTripper {
	return After(func(request *http.Request, response *http.Response) {
		if request.URL.Query().Has("watch") {
			response.Body = watched{response.Body, func() { do(request.URL.Path) }}
		}
	})
}

type watched struct {
	io.ReadCloser
	received func()
}

func (w watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.received()
	return n, err
}

// Wrap has clients send their requests by a function, which gets what sends them otherwise.
func Wrap(send func(inner http.RoundTripper, request *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) { return send(inner, request) })
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
