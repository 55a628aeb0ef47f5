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

// What one server has learned must not affect another.
func TestServersShareNoKnowledgeOfEtcd(t *testing.T) {
	prepareProcess()
	checker := etcdfeature.DefaultFeatureSupportChecker
	require.True(t, checker.Supports(storage.RequestWatchProgress), "before anybody has asked")
	checker.MarkUnsupported(storage.RangeStream)
	require.True(t, checker.Supports(storage.RangeStream))
}
