package selfbuild

import (
	"slices"

	"github.com/watchsim/watchsim/search/mutant"
)

// ControlPlane is the name of the target that is the whole control plane, and of its module.
const ControlPlane = "controlplane"

// Tested is a target whose scenarios are tests of package simtest.
type Tested struct {
	Name, Summary string
	Tests         Tests
	// Scenarios are its scenarios; the first one is the default.
	Scenarios []TestedScenario
	// Mutants returns the mutants that it is built with if one is requested.
	Mutants func() []mutant.Mutant
	// Below returns mutants of the code below API servers, nil if there are none. They are only built in if one of them is
	// requested: they make almost everything be recompiled.
	Below func() []mutant.Mutant
}

// TestedScenario is one of the scenarios of such a target.
type TestedScenario struct {
	Name, Summary string
	// Test is the name of its test function.
	Test string
	// Targets are the targets whose mutants it can have, besides those that every target has.
	Targets []string
}

// Has reports whether a mutant is in code that the scenario runs.
func (s TestedScenario) Has(m mutant.Mutant) bool {
	return m.Target == "" || slices.Contains(s.Targets, m.Target)
}

// ToChoose returns the mutants to build with so that those with these names can be chosen. Unknown names are ignored.
func (t Tested) ToChoose(names ...string) []mutant.Mutant {
	all := t.Mutants()
	if t.Below == nil {
		return all
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(m mutant.Mutant) bool { return m.Name == name }) {
			return slices.Concat(all, t.Below())
		}
	}
	return all
}

// Test returns the test of the first scenario that has a mutant, empty if none has.
func (t Tested) Test(m mutant.Mutant) string {
	for _, s := range t.Scenarios {
		if s.Has(m) {
			return s.Test
		}
	}
	return ""
}

// The targets whose mutants scenarios have: with Kubernetes' cache, with the project's own, of the control plane, and of the operator.
var (
	ofKubernetes   = []string{"kubernetes"}
	ofCacher       = []string{"cacher"}
	ofControlPlane = []string{ControlPlane, "kubernetes"}
	ofOperator     = []string{"operator"}
)

// AllTested returns all such targets.
func AllTested() []Tested {
	return []Tested{
		{
			Name: "http", Summary: "API servers of k8s.io/apiserver around either cache, and clients of client-go, over HTTPS (built on first use; has scenarios of its own)",
			Tests: Tests{Package: "simtest"},
			Scenarios: []TestedScenario{
				{"clients", "writers, readers, watchers and informers ask for anything in any encoding: two API servers with Kubernetes' cache over one etcd member", "TestClients", ofKubernetes},
				{"clients-ha", "the same with three API servers over three etcd members", "TestClientsOfManyServers", ofKubernetes},
				{"clients-cacher", "the same as clients with the project's own cache", "TestClientsOfWatchsim", ofCacher},
			},
			Mutants: mutant.All,
		},
		{
			Name: ControlPlane, Summary: "kube-apiserver, kube-controller-manager and kube-scheduler 1.37.2, with nodes and users (built on first use; has scenarios of its own)",
			Tests: Tests{Module: ControlPlane},
			Scenarios: []TestedScenario{
				{"any", "users and administrators change the cluster for a minute, in any way: two API servers over one etcd member", "TestAny", ofControlPlane},
				{"ha", "the same: three API servers behind a load balancer over three etcd members", "TestHA", ofControlPlane},
				{"node-loss", "nodes lose power, are drained, labelled and replaced under deployments, sets and jobs", "TestNodeLoss", ofControlPlane},
				{"leader-loss", "managers and schedulers are killed while they lead", "TestLeaderLoss", ofControlPlane},
				{"namespace-delete", "namespaces are deleted with all that is in them, and created again", "TestNamespaceDelete", ofControlPlane},
				{"service-churn", "services are created, changed and deleted, with addresses from two API servers", "TestServiceChurn", ofControlPlane},
				{"job-storm", "jobs and cron jobs are created, changed, suspended and deleted", "TestJobStorm", ofControlPlane},
				{"volumes", "pods and stateful sets use volumes, which come and go with their claims", "TestVolumes", ofControlPlane},
				{"crd-conversion", "a webhook converts custom resources, whose definitions come and go: three API servers over three etcd members", "TestConversion", ofControlPlane},
				{"rollout", "five deployments on three nodes are created and get another image", "TestRollout", ofControlPlane},
			},
			Mutants: mutant.ControlPlane,
			Below:   mutant.All,
		},
		{
			Name: "operator", Summary: "an operator with controller-runtime, which is one of the examples, over two API servers of k8s.io/apiserver (built on first use; has scenarios of its own)",
			Tests: Tests{Module: "examples/operator"},
			Scenarios: []TestedScenario{
				{"databases", "a user creates, resizes and deletes databases of the same three names, whose pods and volumes the operator keeps", "TestDatabase", ofOperator},
			},
			Mutants: mutant.Operator,
		},
	}
}
