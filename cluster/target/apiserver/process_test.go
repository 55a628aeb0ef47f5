package apiserver

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/klog/v2"

	"github.com/watchsim/watchsim/sim"
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

// The end of one server must not affect the health of another.
func TestServersShareNoCheckOfTheirLogs(t *testing.T) {
	prepareProcess()
	var err error
	_, failed := sim.Run(sim.Config{Source: sim.FromSeed(1)}, func(world *sim.World) {
		first := world.Process("first")
		first.Go(func() { _ = healthz.LogHealthz.Check(nil) })
		time.Sleep(time.Second)
		first.Crash()
		time.Sleep(3 * time.Minute)
		err = healthz.LogHealthz.Check(nil)
	})
	require.NoError(t, failed)
	require.NoError(t, err)
}

// What one server has learned must not affect another.
func TestServersShareNoKnowledgeOfEtcd(t *testing.T) {
	prepareProcess()
	checker := etcdfeature.DefaultFeatureSupportChecker
	require.True(t, checker.Supports(storage.RequestWatchProgress), "before anybody has asked")
	checker.MarkUnsupported(storage.RangeStream)
	require.True(t, checker.Supports(storage.RangeStream))
}
