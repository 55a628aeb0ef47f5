package api

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedapps "k8s.io/client-go/kubernetes/typed/apps/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Schedule runs kube-scheduler with its default configuration, and returns once it has observed what there is. It starts the informers of all controllers that share
// the factory.
func Schedule(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	s := rig.Value(scheduler.New(ctx, client, factory, nil, func(name string) events.EventRecorderLogger { return broadcaster.NewRecorder(scheme.Scheme, name) }))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	rig.Must(s.WaitForHandlersSync(ctx))
	go s.Run(ctx)
}

// Partial returns a client of the API server, and of a fake one for all that kube-scheduler watches and the API server does not serve. Informers need it as it is: by
// a method beside those of the interface, they see that the fake client cannot stream lists.
func Partial(config *clientrest.Config, others *fake.Clientset) kubernetes.Interface {
	return partial{others, kubernetes.NewForConfigOrDie(config)}
}

type partial struct {
	*fake.Clientset
	server kubernetes.Interface
}

func (p partial) CoreV1() typed.CoreV1Interface     { return core{p.server.CoreV1(), p.Clientset.CoreV1()} }
func (p partial) AppsV1() typedapps.AppsV1Interface { return p.server.AppsV1() }

type core struct {
	typed.CoreV1Interface
	fake typed.CoreV1Interface
}

func (c core) Services(space string) typed.ServiceInterface { return c.fake.Services(space) }

func (c core) ReplicationControllers(space string) typed.ReplicationControllerInterface {
	return c.fake.ReplicationControllers(space)
}
