package etcd

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
)

// The settings of kube-apiserver's etcd client.
const (
	dialTimeout      = 20 * time.Second
	keepAliveTime    = 30 * time.Second
	keepAliveTimeout = 10 * time.Second
)

// NewClient makes a client with the settings kube-apiserver's has, to one or
// more members. It returns without a connection: the first request makes one.
// The caller closes it.
func NewClient(endpoints ...string) (*kubernetes.Client, error) {
	return kubernetes.New(clientv3.Config{
		Endpoints:            endpoints,
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    keepAliveTime,
		DialKeepAliveTimeout: keepAliveTimeout,
		Logger:               zap.NewNop(),
	})
}
