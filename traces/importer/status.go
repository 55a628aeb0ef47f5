package importer

import (
	"encoding/json"
	"net/http"

	"github.com/watchsim/watchsim/model"
)

// FailureOf returns what an HTTP status and the Status object in the body, if there
// is one, say of a request; [model.OK] for success. A status of 0 is taken from the
// object. When in doubt it is [model.Unknown]: the request may have been carried
// out. The message of a status is not looked at, as it may quote what was sent.
func FailureOf(code int, body []byte) model.Code {
	if code >= 200 && code < 300 {
		return model.OK // whatever the body is: it may be long
	}
	var status status
	if json.Unmarshal(body, &status) == nil && code == 0 {
		code = status.Code
	}
	for _, cause := range status.Details.Causes {
		if cause.Reason == "ResourceVersionTooLarge" {
			return model.TooLarge
		}
	}
	switch {
	case code >= 200 && code < 300:
		return model.OK
	case code == http.StatusNotFound && len(body) > 0 && status.Details.Name == "":
		return model.Unavailable // it is the resource that the server does not serve, as while it starts
	case code == http.StatusNotFound:
		return model.NotFound
	case code == http.StatusConflict && status.Reason == "AlreadyExists":
		return model.AlreadyExists
	case code == http.StatusConflict:
		return model.Conflict
	case code == http.StatusGone:
		return model.Expired
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		return model.Invalid
	case code == http.StatusTooManyRequests:
		return model.TooMany
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusMethodNotAllowed:
		return model.Unavailable // refused before anything was done
	}
	return model.Unknown
}

// status is what is read of a Status object (k8s.io/apimachinery/pkg/apis/meta/v1).
type status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Details struct {
		Name   string `json:"name"`
		UID    string `json:"uid"`
		Causes []struct {
			Reason string `json:"reason"`
		} `json:"causes"`
	} `json:"details"`
}
