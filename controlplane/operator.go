package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// operatorPause is the longest pause between two actions of an operator.
const operatorPause = time.Second

// Operator is a program for simtest that uses secrets, configuration and a custom resource as operators,
// certificate issuers and kubectl users do: it runs informers of them, writes them, and
// lists them consistently.
func Operator(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, informer := range []cache.SharedIndexInformer{
		factory.Core().V1().Secrets().Informer(), factory.Core().V1().ConfigMaps().Informer(),
		dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0).ForResource(gauges).Informer(),
	} {
		go informer.RunWithContext(ctx)
	}
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = operate(bounded, client, untyped.Resource(gauges)) // failures are expected
		cancel()
		time.Sleep(upTo(operatorPause))
	}
	return nil
}

// operate performs one action, drawn at random.
func operate(ctx context.Context, client kubernetes.Interface, gauged dynamic.NamespaceableResourceInterface) (err error) {
	space, name, content := spaces[rand.IntN(len(spaces))], string(rune('a'+rand.IntN(3))), fmt.Sprint(rand.Uint32())
	meta, core := metav1.ObjectMeta{Name: name}, client.CoreV1()
	switch rand.IntN(13) {
	case 0, 1, 2:
		_, err = core.Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	case 3, 4:
		_, err = core.ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	case 5:
		data := map[string][]byte{"content": []byte(content)}
		err = ensure(ctx, core.Secrets(space), name, &corev1.Secret{ObjectMeta: meta, Data: data}, func(s *corev1.Secret) { s.Data = data })
	case 6:
		data := map[string]string{"content": content}
		if policy := rand.IntN(len(policies) + 1); policy < len(policies) {
			meta.Labels = map[string]string{admission: labelOf(policies[policy])}
		}
		err = ensure(ctx, core.ConfigMaps(space), name, &corev1.ConfigMap{ObjectMeta: meta, Data: data}, func(c *corev1.ConfigMap) { c.Data = data })
	case 7:
		err = core.Secrets(space).Delete(ctx, name, metav1.DeleteOptions{})
	case 8:
		err = core.ConfigMaps(space).Delete(ctx, name, metav1.DeleteOptions{})
	case 9, 10:
		_, err = gauged.List(ctx, metav1.ListOptions{})
	case 11:
		number := rand.Int64N(1000)
		err = ensure(ctx, likeTyped{gauged.Namespace(space)}, name, gauge(name, number), func(g *unstructured.Unstructured) { g.Object[laterField] = number })
	default:
		err = gauged.Namespace(space).Delete(ctx, name, metav1.DeleteOptions{})
	}
	return err
}

// likeTyped gives a dynamic client the methods of a typed one.
type likeTyped struct{ dynamic.ResourceInterface }

func (l likeTyped) Create(ctx context.Context, object *unstructured.Unstructured, options metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return l.ResourceInterface.Create(ctx, object, options)
}

func (l likeTyped) Get(ctx context.Context, name string, options metav1.GetOptions) (*unstructured.Unstructured, error) {
	return l.ResourceInterface.Get(ctx, name, options)
}

func (l likeTyped) Update(ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return l.ResourceInterface.Update(ctx, object, options)
}
