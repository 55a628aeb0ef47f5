package recorder

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/fxamacker/cbor/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// encoding is one in which API servers and clients write objects. The recorder translates them to JSON, so that responses in
// different encodings can be compared.
type encoding struct {
	// translate returns the JSON of an object, a list or a status; nil if it is JSON.
	translate func(body []byte) ([]byte, error)
	// event returns the type of a watch event and the JSON of the object in it.
	event func(body []byte, known *texts) (of model.EventType, object []byte, err error)
	// events returns a splitter for the events of a watch, nil if they cannot be read.
	events func() splitter
}

// texts caches translations to JSON.
type texts = importer.Memo[[]byte]

// asJSON returns the JSON of an object, a list or a status. The cache may be nil.
func (e encoding) asJSON(body []byte, known *texts) ([]byte, error) {
	if e.translate == nil {
		return body, nil
	}
	return known.Of(body, e.translate)
}

// splitter finds the ends of consecutive values, as [importer.Splitter.Take] does.
type splitter interface {
	Take(piece []byte) (taken int, value []byte, err error)
}

// encodings are those of Kubernetes, by media type. The framing of events is that of
// k8s.io/apimachinery/pkg/runtime/serializer/{json,protobuf,cbor}.
var encodings = map[string]encoding{
	"application/json":                    {nil, cutJSON, func() splitter { return &importer.Splitter{} }},
	"application/vnd.kubernetes.protobuf": {fromProtobuf, cutProtobuf, func() splitter { return &sequence{cut: cutFrame} }},
	"application/cbor":                    {importer.FromCBOR, cutCBOREvent, newCBOR},
	"application/cbor-seq":                {importer.FromCBOR, cutCBOREvent, newCBOR},
}

func newCBOR() splitter { return &sequence{cut: cutCBOR} }

// unread is the encoding of what cannot be read, such as compressed bodies.
var unread = encoding{translate: unreadable}

func unreadable([]byte) ([]byte, error) { return nil, errors.New("the encoding is unknown") }

// encodingOf returns the encoding in the header of a request or a response.
func encodingOf(header http.Header) encoding {
	media, _, _ := strings.Cut(cmp.Or(header.Get("Content-Type"), "application/json"), ";") // the default of API servers
	if known, is := encodings[media]; is && header.Get("Content-Encoding") == "" {
		return known
	}
	return unread
}

func cutJSON(body []byte, _ *texts) (model.EventType, []byte, error) { return importer.CutEvent(body) }

func cutCBOREvent(body []byte, _ *texts) (model.EventType, []byte, error) {
	text, err := importer.FromCBOR(body)
	if err != nil {
		return "", nil, err
	}
	return importer.CutEvent(text)
}

// protobufMagic is the prefix of Kubernetes' protobuf (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
var protobufMagic = []byte("k8s\x00")

// message is a generated protobuf message.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal(body []byte) error
}

// fromProtobuf translates an object in full if client-go knows its type. For other types, and for objects with fields that
// client-go's type lacks, which a newer server may send, it translates only the metadata, whose fields are the same in all types.
func fromProtobuf(body []byte) ([]byte, error) {
	body, is := bytes.CutPrefix(body, protobufMagic)
	if !is {
		return nil, errors.New("expected Kubernetes' protobuf, found something else")
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(body); err != nil {
		return nil, fmt.Errorf("expected Kubernetes' protobuf, found %w", err)
	}
	kind := envelope.GroupVersionKind()
	if kind.Kind == "" {
		return nil, errors.New("expected Kubernetes' protobuf, found an object without a kind")
	}
	if object, err := scheme.Scheme.New(kind); err == nil {
		if whole, is := object.(message); is && whole.Unmarshal(envelope.Raw) == nil {
			if again, err := whole.Marshal(); err == nil && bytes.Equal(again, envelope.Raw) {
				object.GetObjectKind().SetGroupVersionKind(kind)
				return json.Marshal(object)
			}
		}
	}
	if strings.HasSuffix(kind.Kind, "List") {
		list := &metav1.PartialObjectMetadataList{}
		if err := list.Unmarshal(envelope.Raw); err != nil {
			return nil, fmt.Errorf("expected a list, found %w", err)
		}
		list.Kind = kind.Kind
		for i := range list.Items {
			list.Items[i].Kind = "PartialObjectMetadata"
		}
		return json.Marshal(list)
	}
	object := &metav1.PartialObjectMetadata{}
	if err := object.Unmarshal(envelope.Raw); err != nil {
		return nil, fmt.Errorf("expected an object, found %w", err)
	}
	object.Kind = "PartialObjectMetadata"
	return json.Marshal(object)
}

func cutProtobuf(body []byte, known *texts) (model.EventType, []byte, error) {
	var event metav1.WatchEvent
	if err := event.Unmarshal(body); err != nil {
		return "", nil, fmt.Errorf("expected a watch event, found %w", err)
	}
	object, err := known.Of(event.Object.Raw, fromProtobuf)
	return model.EventType(event.Type), object, err
}

// sequence finds the ends of consecutive values.
type sequence struct {
	// cut returns the first value and its encoded length, 0 until it is complete.
	cut     func(pending []byte) (value []byte, length int, err error)
	pending []byte
	whole   bool // the pending value has been returned
}

// Take implements splitter.
func (s *sequence) Take(piece []byte) (taken int, value []byte, err error) {
	if s.whole {
		s.pending, s.whole = s.pending[:0], false
	}
	before := len(s.pending)
	s.pending = append(s.pending, piece...)
	value, length, err := s.cut(s.pending)
	switch {
	case err != nil:
		return 0, nil, err
	case length == 0 && len(s.pending) > importer.MaxValue:
		return 0, nil, fmt.Errorf("expected a value of at most %d bytes, found a longer one", importer.MaxValue)
	case length == 0:
		return len(piece), nil, nil
	}
	s.whole = true
	return length - before, value, nil
}

// cutFrame cuts off a value with a length prefix of four bytes.
func cutFrame(pending []byte) (value []byte, length int, err error) {
	const prefix = 4
	if len(pending) < prefix {
		return nil, 0, nil
	}
	size := int(binary.BigEndian.Uint32(pending))
	switch {
	case size == 0 || size > importer.MaxValue:
		return nil, 0, fmt.Errorf("expected a frame of 1 to %d bytes, found one of %d", importer.MaxValue, size)
	case len(pending) < prefix+size:
		return nil, 0, nil
	}
	return pending[prefix : prefix+size], prefix + size, nil
}

// cutCBOR cuts off a CBOR value, which is self-delimiting.
func cutCBOR(pending []byte) (value []byte, length int, err error) {
	var raw cbor.RawMessage
	rest, err := cbor.UnmarshalFirst(pending, &raw)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return nil, 0, nil
	}
	length = len(pending) - len(rest)
	return pending[:length], length, err
}
