package httpserver

import (
	"context"
	"net/http"
	"slices"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// Processors is how many requests each server works on at a time, if Options.Work is above 0.
const Processors = 4

// fairness are the resources that configure priority and fairness.
var fairness = []resource{
	{flowcontrolv1.SchemeGroupVersion, "flowschemas", &flowcontrolv1.FlowSchema{}, &flowcontrolv1.FlowSchemaList{}, true},
	{flowcontrolv1.SchemeGroupVersion, "prioritylevelconfigurations", &flowcontrolv1.PriorityLevelConfiguration{}, &flowcontrolv1.PriorityLevelConfigurationList{}, true},
}

// resync is the resync period of kube-apiserver's informers of its own resources.
const resync = 10 * time.Minute

// working makes requests of service accounts wait for a processor and occupy it.
func working(next http.Handler, work time.Duration) http.Handler {
	processors := make(chan struct{}, Processors)
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if who, known := genericrequest.UserFrom(request.Context()); work > 0 && known && isSubject(who.GetName()) {
			select {
			case processors <- struct{}{}:
				time.Sleep(work)
				<-processors
			case <-request.Context().Done():
			}
		}
		next.ServeHTTP(w, request)
	})
}

// beFair makes a server queue and reject requests. As in kube-apiserver, a server only knows the
// mandatory priority levels until it has read the others from itself.
func beFair(config *genericapiserver.RecommendedConfig, work time.Duration) error {
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return genericapiserver.DefaultBuildHandlerChain(working(next, work), c)
	}
	client, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return err
	}
	config.SharedInformerFactory = informers.NewSharedInformerFactory(client, resync)
	config.FlowControl = utilflowcontrol.New(config.SharedInformerFactory, client.FlowcontrolV1(), config.MaxRequestsInFlight+config.MaxMutatingRequestsInFlight)
	return config.AddPostStartHook("priority-and-fairness-config-producer", func(hook genericapiserver.PostStartHookContext) error {
		return wait.PollUntilContextCancel(hook, time.Second, true, func(ctx context.Context) (bool, error) {
			return createDefaults(ctx, client) == nil, nil
		})
	})
}

// createDefaults creates the missing flow schemas and priority levels.
func createDefaults(ctx context.Context, client kubernetes.Interface) error {
	api := client.FlowcontrolV1()
	for _, level := range slices.Concat(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations) {
		if _, err := api.PriorityLevelConfigurations().Create(ctx, level, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, flow := range slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas) {
		if _, err := api.FlowSchemas().Create(ctx, flow, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// isSubject reports whether a user is subject to priority and fairness: a service account.
func isSubject(name string) bool {
	_, _, err := serviceaccount.SplitUsername(name)
	return err == nil
}

// groupsOf returns the groups of a user.
func groupsOf(name string, fair bool) []string {
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil && fair {
		return append(serviceaccount.MakeGroupNames(namespace), user.AllAuthenticated)
	}
	return []string{user.SystemPrivilegedGroup, user.AllAuthenticated}
}
