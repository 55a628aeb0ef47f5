package importer

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/watchsim/watchsim/model"
)

// FailureOf returns the failure according to an HTTP status and the Status object in
// the body, if there is one; [model.OK] for success. A status of 0 is taken from the
// object. In doubt it is [model.Unknown]: the request may have taken effect. The
// message of a status is not read, because it may quote the request.
func FailureOf(code int, body []byte) model.Code {
	if code >= 200 && code < 300 {
		return model.OK // without parsing the body, which may be long
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
		return model.Unavailable // the server does not serve the resource, for example while it starts
	case code == http.StatusConflict && status.Reason == "AlreadyExists":
		return model.AlreadyExists
	}
	return cmp.Or(failures[code], model.Unknown)
}

// failures are what HTTP statuses mean. Those that are unavailable were refused without effect.
var failures = map[int]model.Code{
	http.StatusNotFound: model.NotFound, http.StatusConflict: model.Conflict, http.StatusGone: model.Expired,
	http.StatusBadRequest: model.Invalid, http.StatusUnprocessableEntity: model.Invalid, http.StatusTooManyRequests: model.TooMany,
	http.StatusUnauthorized: model.Unavailable, http.StatusForbidden: model.Unavailable, http.StatusMethodNotAllowed: model.Unavailable,
}

// status has the fields that are read of a Status object (k8s.io/apimachinery/pkg/apis/meta/v1).
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
