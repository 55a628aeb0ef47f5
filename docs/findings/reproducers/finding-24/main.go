// Finding 24: two of three etcd members stop, and the remaining one has no leader. For 30 seconds, the watch cache retries
// its watch as soon as that member rejects it.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

func main() {
	caches := flag.Int("caches", 1, "watch caches in the process; kube-apiserver has one for each resource")
	observed := flag.Duration("for", 10*time.Second, "how long to count, of the 30 seconds for which a cache retries")
	limit := flag.Int("limit", 10, "how many watches per second and cache are acceptable")
	flag.Parse()

	members := start(rig.Folder())
	address := members[0].Clients[0].Addr().String()
	for range *caches {
		store.New(address)
	}
	var refused atomic.Int64
	klog.SetLogger(funcr.New(func(_, message string) {
		if strings.Contains(message, "etcdserver: no leader") {
			refused.Add(1)
		}
	}, funcr.Options{}))
	for _, member := range members[1:] {
		member.Server.HardStop()
	}
	fmt.Println("two of three members have stopped")
	rig.Await(time.Millisecond, time.Minute, "the remaining member has not detected for a minute that it has no leader", func() bool { return refused.Load() > 0 })
	watches, processor := refused.Load(), processorTime()
	time.Sleep(*observed)
	watches, processor = refused.Load()-watches, processorTime()-processor
	rate := float64(watches) / observed.Seconds() / float64(*caches)
	fmt.Printf("%d refused watches in %v, %.0f a second and cache; %v of processor time of the caches and that member\n", watches, *observed, rate, processor.Round(time.Millisecond))
	rig.VerdictOfOne(rate > float64(*limit), fmt.Sprintf("more than %d watches a second and cache without a leader", *limit))
}

// start starts three members, and returns them once they have a leader.
func start(dir string) (members []*embed.Etcd) {
	const peer = "http://127.0.0.1:%d"
	ports := [3]int{23801, 23802, 23803}
	var cluster []string
	for i, port := range ports {
		cluster = append(cluster, fmt.Sprintf("m%d="+peer, i, port))
	}
	for i, port := range ports {
		config := embed.NewConfig()
		config.Name, config.Dir = fmt.Sprintf("m%d", i), filepath.Join(dir, fmt.Sprint(i))
		config.LogLevel, config.UnsafeNoFsync = "fatal", true
		own := rig.Value(url.Parse(fmt.Sprintf(peer, port)))
		config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*own}, []url.URL{*own}
		config.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
		config.InitialCluster = strings.Join(cluster, ",")
		members = append(members, rig.Value(embed.StartEtcd(config)))
	}
	for _, member := range members {
		rig.Ready(member)
	}
	return members
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	rig.Must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
