package cacher

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// metaObject is implemented by every API object.
type metaObject interface {
	runtime.Object
	metav1.Object
}

// payload is an object as delivered by any number of watches: encoded once for each format, when
// first requested.
type payload struct {
	object metaObject // immutable

	mu        sync.Mutex
	encodings []*encoding // a handful: one for each format
}

type encoding struct {
	format runtime.Identifier
	once   sync.Once
	data   []byte
	err    error
}

// payloads are the two objects that an event can deliver, made on first use.
type payloads struct {
	after  atomic.Pointer[payload]
	before atomic.Pointer[payload] // the state before, at the RV of the event
}

// share returns the object in slot, and first puts there what object returns if it is nil.
func share(slot *atomic.Pointer[payload], object func() runtime.Object) runtime.Object {
	shared := slot.Load()
	if shared == nil {
		made, ok := object().(metaObject)
		if !ok {
			return object().DeepCopyObject() // an object without metadata is not shared
		}
		shared = &payload{object: made}
		if !slot.CompareAndSwap(nil, shared) {
			shared = slot.Load()
		}
	}
	return &delivery{metaObject: shared.object, payload: shared}
}

// unshared returns an object for one watch only. It is not copied until a field is set. Its
// encoding is not kept, as those of all objects would take as much memory as the objects.
func unshared(object runtime.Object) runtime.Object {
	made, ok := object.(metaObject)
	if !ok {
		return object.DeepCopyObject()
	}
	return &delivery{metaObject: made, payload: &payload{object: made}}
}

// drop discards the objects and their encodings; existing deliveries still have them.
func (p *payloads) drop() {
	p.after.Store(nil)
	p.before.Store(nil)
}

func (p *payload) encode(format runtime.Identifier, encode func(runtime.Object, io.Writer) error) ([]byte, error) {
	e := p.encoding(format)
	e.once.Do(func() {
		// Encoders set fields of the object, so they get a copy.
		var buffer bytes.Buffer
		e.err = encode(p.object.DeepCopyObject(), &buffer)
		e.data = buffer.Bytes()
	})
	return e.data, e.err
}

func (p *payload) encoding(format runtime.Identifier) *encoding {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.encodings {
		if e.format == format {
			return e
		}
	}
	e := &encoding{format: format}
	p.encodings = append(p.encodings, e)
	return e
}

// delivery is a payload as one watch delivers it. Setting a field first copies the object, so that
// no other watch sees it. A delivery is used by one goroutine at a time, like any object.
type delivery struct {
	metaObject          // the payload's until a field is set
	payload    *payload // nil from then on
}

var (
	_ runtime.CacheableObject = &delivery{}
	_ metav1.Object           = &delivery{}
)

// CacheEncode implements runtime.CacheableObject.
func (d *delivery) CacheEncode(format runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	if d.payload == nil {
		return encode(d.metaObject.DeepCopyObject(), w)
	}
	data, err := d.payload.encode(format, encode)
	if err != nil {
		return err
	}
	if splicer, ok := w.(runtime.Splice); ok {
		splicer.Splice(data)
		return nil
	}
	_, err = w.Write(data)
	return err
}

// GetObject implements runtime.CacheableObject: a copy that belongs to the caller.
func (d *delivery) GetObject() runtime.Object { return d.metaObject.DeepCopyObject() }

// DeepCopyObject implements runtime.Object.
func (d *delivery) DeepCopyObject() runtime.Object {
	return &delivery{metaObject: d.metaObject.DeepCopyObject().(metaObject)}
}

// GetObjectKind implements runtime.Object. Fields set on it are kept only if the object is this
// delivery's own.
func (d *delivery) GetObjectKind() schema.ObjectKind {
	if d.payload == nil {
		return d.metaObject.GetObjectKind()
	}
	kind := &metav1.TypeMeta{}
	kind.SetGroupVersionKind(d.metaObject.GetObjectKind().GroupVersionKind())
	return kind
}

// own returns an object whose fields may be set.
func (d *delivery) own() metaObject {
	if d.payload != nil {
		d.metaObject, d.payload = d.metaObject.DeepCopyObject().(metaObject), nil
	}
	return d.metaObject
}

// SetResourceVersion implements metav1.Object. The handlers above the cache call it with the RV
// that it already has.
func (d *delivery) SetResourceVersion(rv string) {
	if rv != d.GetResourceVersion() {
		d.own().SetResourceVersion(rv)
	}
}

// The other setters of metav1.Object. The getters are the object's.

func (d *delivery) SetNamespace(v string)                          { d.own().SetNamespace(v) }
func (d *delivery) SetName(v string)                               { d.own().SetName(v) }
func (d *delivery) SetGenerateName(v string)                       { d.own().SetGenerateName(v) }
func (d *delivery) SetUID(v types.UID)                             { d.own().SetUID(v) }
func (d *delivery) SetGeneration(v int64)                          { d.own().SetGeneration(v) }
func (d *delivery) SetSelfLink(v string)                           { d.own().SetSelfLink(v) }
func (d *delivery) SetCreationTimestamp(v metav1.Time)             { d.own().SetCreationTimestamp(v) }
func (d *delivery) SetDeletionTimestamp(v *metav1.Time)            { d.own().SetDeletionTimestamp(v) }
func (d *delivery) SetDeletionGracePeriodSeconds(v *int64)         { d.own().SetDeletionGracePeriodSeconds(v) }
func (d *delivery) SetLabels(v map[string]string)                  { d.own().SetLabels(v) }
func (d *delivery) SetAnnotations(v map[string]string)             { d.own().SetAnnotations(v) }
func (d *delivery) SetFinalizers(v []string)                       { d.own().SetFinalizers(v) }
func (d *delivery) SetOwnerReferences(v []metav1.OwnerReference)   { d.own().SetOwnerReferences(v) }
func (d *delivery) SetManagedFields(v []metav1.ManagedFieldsEntry) { d.own().SetManagedFields(v) }
