package apiserver

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/klog/v2"
)

func TestLogTo(t *testing.T) {
	var log bytes.Buffer
	LogTo(&log)
	defer klog.SetLogger(logr.Discard())
	klog.Warning("the cache is warm")
	utilruntime.HandleError(errors.New("the cache is cold"))
	require.Contains(t, log.String(), "the cache is warm")
	require.Contains(t, log.String(), "the cache is cold")
}

// A server that started earlier in the process must not change what a later one
// does, so none may leave a trace in the libraries' state.
func TestTheProcessRemembersNoServer(t *testing.T) {
	prepareProcess()
	require.Equal(t, allFeatures{etcdfeature.NewDefaultFeatureSupportChecker()}, etcdfeature.DefaultFeatureSupportChecker)
	require.True(t, etcdfeature.DefaultFeatureSupportChecker.Supports(storage.RequestWatchProgress))
}
