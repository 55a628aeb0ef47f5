package controlplane_test

import (
	"testing"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// TestNodeLoss: nodes that run deployments, sets and jobs lose power, are drained and replaced.
func TestNodeLoss(t *testing.T) {
	anything(t, simtest.Config{}, controlplane.Nodes, controlplane.Deployments, controlplane.StatefulSets, controlplane.DaemonSets, controlplane.Jobs)
}

// TestLeaderLoss: managers and schedulers are killed while they lead.
func TestLeaderLoss(t *testing.T) {
	anything(t, simtest.Config{}, controlplane.Leaders, controlplane.Deployments, controlplane.StatefulSets, controlplane.DaemonSets, controlplane.Jobs)
}

// TestNamespaceDelete: namespaces are deleted with all their contents, and recreated.
func TestNamespaceDelete(t *testing.T) {
	anything(t, simtest.Config{}, controlplane.Namespaces, controlplane.Deployments, controlplane.Jobs, controlplane.Services, controlplane.Quotas, controlplane.Definitions)
}

// TestServiceChurn: services and nothing else, with two API servers, which allocate addresses from the same ranges.
func TestServiceChurn(t *testing.T) { anything(t, simtest.Config{Servers: 2}, controlplane.Services) }

// TestJobStorm: jobs, those of cron jobs too, and nothing else.
func TestJobStorm(t *testing.T) {
	anything(t, simtest.Config{}, controlplane.Jobs, controlplane.CronJobs)
}

// TestVolumes: pods use volumes, which are provisioned and deleted with their claims.
func TestVolumes(t *testing.T) {
	anything(t, simtest.Config{Servers: 2}, controlplane.Volumes, controlplane.Pods, controlplane.StatefulSets, controlplane.Nodes)
}

// TestConversion: a webhook converts custom resources between versions, and definitions of others come and go.
func TestConversion(t *testing.T) {
	anything(t, simtest.Config{Members: 3, Servers: 3}, controlplane.Definitions)
}
