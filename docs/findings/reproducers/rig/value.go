package rig

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Value is like Must, and returns the result that comes without an error.
func Value[V any](result V, err error) V {
	Must(err)
	return result
}

// Create creates an object that must not exist yet, and returns what is stored.
func Create[O any](client interface {
	Create(context.Context, O, metav1.CreateOptions) (O, error)
}, object O) O {
	return Value(client.Create(context.Background(), object, metav1.CreateOptions{}))
}

// Await is like Wait, for what must be met: otherwise, it ends the process as Must does, and says so.
func Await(interval, patience time.Duration, otherwise string, condition func() bool) (took time.Duration) {
	took, met := Wait(interval, patience, condition)
	if !met {
		Must(errors.New(otherwise))
	}
	return took
}
