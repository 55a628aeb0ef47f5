package httpserver

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	kmsapi "k8s.io/kms/apis/v2"
	kms "k8s.io/kms/pkg/service"
	"k8s.io/kms/pkg/util"
)

func init() { encryptionconfig.EnvelopeKMSv2ServiceFactory = dialPlugin }

// pluginAddress is the socket at which the KMS plugin of a server listens.
func pluginAddress(server string) string { return "@kms-" + server }

// servePlugin serves the KMS plugin of a server until it is stopped.
func (k *keyService) servePlugin(server string, out func() bool) (stop func(), err error) {
	address := pluginAddress(server)
	listener, err := net.Listen("unix", address)
	if err != nil {
		return nil, err
	}
	plugin := grpc.NewServer()
	kmsapi.RegisterKeyManagementServiceServer(plugin, kms.NewGRPCService(address, 0, kmsPlugin{keys: k, out: out}))
	go func() { _ = plugin.Serve(listener) }()
	return plugin.Stop, nil
}

// dialPlugin is kmsv2.NewGRPCService over the simulated network, which supports net.Dialer but not
// net.DialUnix.
func dialPlugin(ctx context.Context, endpoint, _ string, timeout time.Duration) (kms.Service, error) {
	address, err := util.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithAuthority("localhost"), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = connection.Close() })
	return pluginClient{kmsapi.NewKeyManagementServiceClient(connection), timeout}, nil
}

// pluginClient is a server's client of its plugin. It implements kms.Service.
type pluginClient struct {
	plugin  kmsapi.KeyManagementServiceClient
	timeout time.Duration // per call
}

func (c pluginClient) Decrypt(ctx context.Context, uid string, request *kms.DecryptRequest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.plugin.Decrypt(ctx, &kmsapi.DecryptRequest{Ciphertext: request.Ciphertext, Uid: uid, KeyId: request.KeyID, Annotations: request.Annotations})
	if err != nil {
		return nil, err
	}
	return answer.Plaintext, nil
}

func (c pluginClient) Encrypt(ctx context.Context, uid string, plain []byte) (*kms.EncryptResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.plugin.Encrypt(ctx, &kmsapi.EncryptRequest{Plaintext: plain, Uid: uid})
	if err != nil {
		return nil, err
	}
	return &kms.EncryptResponse{Ciphertext: answer.Ciphertext, KeyID: answer.KeyId, Annotations: answer.Annotations}, nil
}

func (c pluginClient) Status(ctx context.Context) (*kms.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.plugin.Status(ctx, &kmsapi.StatusRequest{})
	if err != nil {
		return nil, err
	}
	return &kms.StatusResponse{Version: answer.Version, Healthz: answer.Healthz, KeyID: answer.KeyId}, nil
}

// decrypting reads stored values, whatever happens to the servers' plugins: the name of a key is enough.
var decrypting = sync.OnceValue(func() value.Transformer {
	plugin := kmsPlugin{keys: &keyService{}, out: func() bool { return false }}
	return kmsv2.NewEnvelopeTransformer(plugin, kmsProvider, func() (kmsv2.State, error) { return kmsv2.State{}, nil }, "")
})

// Decrypt returns a value of etcd decrypted, or unchanged if it is not encrypted.
func Decrypt(key string, stored []byte) ([]byte, error) {
	sealed, encrypted := bytes.CutPrefix(stored, []byte(encryptedPrefix))
	if !encrypted {
		return stored, nil
	}
	plain, _, err := decrypting().TransformFromStorage(context.Background(), sealed, value.DefaultContext(key))
	return plain, err
}
