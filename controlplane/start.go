package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// KubeAPIServer selects kube-apiserver as the API server of a test.
const KubeAPIServer simtest.Cache = "kube-apiserver"

// Plane is a control plane without its API servers and etcd. The zero value is empty.
type Plane struct {
	// Workload says how long containers take. It may be changed at any time.
	Workload Workload
	// Observer has informers, and checks their notifications.
	Observer Observer

	// done are the names of actions that have succeeded.
	done map[string]bool
	// overdue says what has not converged in time.
	overdue error
	calm    time.Duration // since when nothing has been wrong, 0 before
	// webhooks says that Prepare has registered webhooks.
	webhooks bool

	settings             Settings
	managers, schedulers []string
	nodes                []*Node
}

// Config adds a control plane to the configuration of a test: its API servers become kube-apiservers, and each seed begins with a
// controller manager, a scheduler and so many nodes at work, which the rules of this package judge. The Boot that
// is given runs before they start, and the Check that is given runs besides their rules.
func (p *Plane) Config(config simtest.Config, nodes int) simtest.Config {
	config.Cache = KubeAPIServer
	config.Patience = cmp.Or(config.Patience, resync+soon+2*maxOff)   // nodes may be off at first
	config.MaxPartition = cmp.Or(config.MaxPartition, 30*time.Second) // a leader loses its lease after 15 s
	boot, check := config.Boot, config.Check
	config.Boot = func(t *simtest.T, c *simtest.Cluster) {
		if boot != nil {
			boot(t, c)
		}
		p.Grow(c, 1, 1, nodes)
		c.Eventually(func() error { return p.Works(t.Context(), c.Config()) })
	}
	config.Check = func(seen simtest.Seen) error {
		broken, err := p.Broken(seen)
		if err != nil {
			return err
		}
		if broken = append(broken, p.Observer.Broken()...); len(broken) > 0 {
			err = errors.New(strings.Join(broken, "\n"))
		}
		if check != nil {
			err = errors.Join(err, check(seen))
		}
		return err
	}
	return config
}

// managerName is the prefix of the names of controller managers.
const managerName = "manager-"

// schedulerName is that of schedulers.
const schedulerName = "scheduler-"

// Grow starts more nodes, controller managers and schedulers. One manager and one scheduler lead.
func (p *Plane) Grow(c *simtest.Cluster, managers, schedulers, nodes int) {
	for range managers {
		p.managers = append(p.managers, fmt.Sprintf("%s%d", managerName, len(p.managers)))
		c.Go(p.managers[len(p.managers)-1], p.ControllerManager)
	}
	for range schedulers {
		p.schedulers = append(p.schedulers, fmt.Sprintf("%s%d", schedulerName, len(p.schedulers)))
		c.Go(p.schedulers[len(p.schedulers)-1], p.Scheduler)
	}
	for range nodes {
		node := NewNode(fmt.Sprintf("node-%d", len(p.nodes)), &p.Workload)
		p.nodes = append(p.nodes, node)
		c.Go(node.name, Kubelet(node))
	}
}

// Restart kills all controller managers and schedulers, or, in half of the runs, tells them to stop, so that leaders release their leases and the next ones
// lead at once. Then it restarts them: they must list all objects again.
func (p *Plane) Restart(c *simtest.Cluster) error {
	end := []func(string) error{c.CrashProgram, c.StopProgram}[rand.IntN(2)]
	all := slices.Concat(p.managers, p.schedulers)
	for _, name := range all {
		_ = end(name) // fails if it is down
	}
	time.Sleep(upTo(time.Second))
	var errs []error
	for _, name := range all {
		errs = append(errs, c.StartProgram(name))
	}
	return errors.Join(errs...)
}

// Works returns an error if a control plane cannot work yet: a node is not ready, there is no leader,
// or the webhooks of Prepare are not called.
func (p *Plane) Works(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	leaders := client.CoordinationV1().Leases(metav1.NamespaceSystem)
	for _, lease := range []string{"kube-controller-manager", "kube-scheduler"} {
		if _, err := leaders.Get(ctx, lease, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s has the taint %s", node.Name, node.Spec.Taints[0].Key)
		}
	}
	if len(nodes.Items) < len(p.nodes) {
		return errors.New("a node has not registered")
	}
	if p.webhooks {
		return asked(ctx, config)
	}
	return nil
}
