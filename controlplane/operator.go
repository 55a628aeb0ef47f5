package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// operatorPause is the longest between two things that an operator does.
const operatorPause = time.Second

// Operator is a program for simtest that does with secrets and configuration what operators, issuers
// of certificates and people with kubectl do: it has informers of them, writes them, and lists them
// with all that has been written until then.
func Operator(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Secrets().Informer(), factory.Core().V1().ConfigMaps().Informer()} {
		go informer.RunWithContext(ctx)
	}
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		_ = operate(bounded, client) // what is refused, late or lost is done again
		cancel()
		time.Sleep(upTo(operatorPause))
	}
	return nil
}

// operate does one thing, of those that operators do.
func operate(ctx context.Context, client kubernetes.Interface) (err error) {
	space, name, content := spaces[rand.IntN(len(spaces))], string(rune('a'+rand.IntN(3))), fmt.Sprint(rand.Uint32())
	meta, core := metav1.ObjectMeta{Name: name}, client.CoreV1()
	switch rand.IntN(9) {
	case 0, 1, 2:
		_, err = core.Secrets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	case 3, 4:
		_, err = core.ConfigMaps(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	case 5:
		data := map[string][]byte{"content": []byte(content)}
		err = ensure(ctx, core.Secrets(space), name, &corev1.Secret{ObjectMeta: meta, Data: data}, func(s *corev1.Secret) { s.Data = data })
	case 6:
		data := map[string]string{"content": content}
		err = ensure(ctx, core.ConfigMaps(space), name, &corev1.ConfigMap{ObjectMeta: meta, Data: data}, func(c *corev1.ConfigMap) { c.Data = data })
	case 7:
		err = core.Secrets(space).Delete(ctx, name, metav1.DeleteOptions{})
	default:
		err = core.ConfigMaps(space).Delete(ctx, name, metav1.DeleteOptions{})
	}
	return err
}
