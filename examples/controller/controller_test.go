package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

// Every namespace eventually gets the newest settings.
func TestCopies(t *testing.T) {
	options := Options{Forget: os.Getenv("FORGET") != ""} // FORGET=1 switches the mistake on
	simtest.Seeds(t, simtest.Config{Servers: 2}, func(t *simtest.T, c *simtest.Cluster) {
		client, namespaces := c.Client().CoreV1(), []string{"red", "green", "blue"}
		for _, name := range append(namespaces, source) {
			_, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: copied}, Data: map[string]string{}}
		_, err := client.ConfigMaps(source).Create(t.Context(), settings, metav1.CreateOptions{})
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			c.Go(name, func(ctx context.Context, config *rest.Config) error { return Run(ctx, config, options) })
		}
		c.Faults(30 * time.Second)
		for n := 0; c.Now() < 30*time.Second; time.Sleep(3 * time.Second) {
			settings.Data["n"] = fmt.Sprint(n)
			if _, err := client.ConfigMaps(source).Update(t.Context(), settings, metav1.UpdateOptions{}); err == nil {
				n++
			}
		}
		c.Eventually(func() error {
			newest, err := client.ConfigMaps(source).Get(t.Context(), copied, metav1.GetOptions{})
			for _, namespace := range namespaces {
				if err != nil {
					return err
				}
				var got *corev1.ConfigMap
				if got, err = client.ConfigMaps(namespace).Get(t.Context(), copied, metav1.GetOptions{}); err == nil && got.Data["n"] != newest.Data["n"] {
					err = fmt.Errorf("expected %v in %s, found %v", newest.Data, namespace, got.Data)
				}
			}
			return err
		})
	})
}
