package importer

import (
	"bytes"
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/watchsim/watchsim/model"
)

// FailureOf returns what an HTTP status and the Status object in the body, if there
// is one, say of a request; [model.OK] for success. A status of 0 is taken from the
// object. When in doubt it is [model.Unknown]: the request may have been carried
// out. The message of a status is not looked at, as it may quote what was sent.
func FailureOf(code int, body []byte) model.Code {
	var status status
	if raw, is := bytes.CutPrefix(body, protobufMagic); is {
		status.unmarshal(message(raw))
	} else if json.Unmarshal(body, &status) == nil && code == 0 {
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
		Name   string  `json:"name"`
		UID    string  `json:"uid"`
		Causes []cause `json:"causes"`
	} `json:"details"`
}

type cause struct {
	Reason string `json:"reason"`
}

// unmarshal reads a status in protobuf: clients of metadata alone get theirs like that, whatever else they accept.
func (s *status) unmarshal(envelope message) {
	raw := envelope.field(2)        // runtime.Unknown: 2 is the object
	s.Reason = string(raw.field(4)) // metav1.Status: 4 is the reason, 5 are details
	details := raw.field(5)
	s.Details.Name, s.Details.UID = string(details.field(1)), string(details.field(6)) // 1 is the name, 4 is a cause
	details.each(func(number protowire.Number, content message) {
		if number == 4 {
			s.Details.Causes = append(s.Details.Causes, cause{string(content.field(1))}) // 1 is the reason
		}
	})
}

// DeletedAsJSON returns what is needed of the answer to a delete, as JSON: clients of metadata alone get theirs in protobuf, whatever else
// they accept. It returns any other answer as it is.
func DeletedAsJSON(body []byte) []byte {
	envelope, is := bytes.CutPrefix(body, protobufMagic)
	if !is {
		return body
	}
	var text any
	if kind := string(message(envelope).field(1).field(2)); kind == "Status" {
		var s status
		s.unmarshal(message(envelope))
		text = map[string]any{"kind": kind, "details": s.Details}
	} else {
		meta := message(envelope).field(2).field(1) // every type has ObjectMeta as 1
		text = map[string]any{"kind": kind, "metadata": metadata{
			Name: string(meta.field(1)), Namespace: string(meta.field(3)), UID: string(meta.field(5)), ResourceVersion: string(meta.field(6)),
		}}
	}
	asJSON, err := json.Marshal(text)
	if err != nil {
		return body // it cannot be
	}
	return asJSON
}
