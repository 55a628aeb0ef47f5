package simtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/simtest"
)

// mirror copies the data of a ConfigMap to another one, named after its life, and knows only an address.
func mirror(ctx context.Context, address, life string) error {
	config := &rest.Config{Host: address}
	if _, err := metadata.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	watch, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=source"})
	if err != nil {
		return err
	}
	for event := range watch.ResultChan() {
		source, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return apierrors.FromObject(event.Object)
		}
		mirrored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: life}, Data: source.Data}
		if _, err := maps.Create(ctx, mirrored, metav1.CreateOptions{}); err != nil {
			return err
		}
		<-ctx.Done()
	}
	return fmt.Errorf("the watch has ended")
}

// TestUsesAnAddress has a program that crashes once, and reaches the API by address in each life.
func TestUsesAnAddress(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		maps := c.Client().CoreV1().ConfigMaps("default")
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "source"}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		lives := 0
		c.Go("program", func(ctx context.Context, config *rest.Config) error {
			address, err := simtest.Proxy(ctx, config)
			if err != nil {
				return err
			}
			lives++
			return mirror(ctx, address, fmt.Sprint("life-", lives))
		})
		plan, err := faults.Parse("at 10s program-crash program=program down=1s")
		require.NoError(t, err)
		c.Inject(plan, 11*time.Second)
		c.Eventually(func() error {
			for _, life := range []string{"life-1", "life-2"} {
				if mirrored, err := maps.Get(t.Context(), life, metav1.GetOptions{}); err != nil || mirrored.Data["a"] != "b" {
					return fmt.Errorf("%s: expected the data of source, found %v: %w", life, mirrored.Data, err)
				}
			}
			return nil
		})
	})
}

func TestAProxyServesEachLife(t *testing.T) {
	out := passes(t, "", "TestUsesAnAddress", "-simtest.seeds=5", "-simtest.shrink=0")
	require.Contains(t, out, "5 seeds passed")
}
