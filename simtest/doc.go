// Package simtest tests programs that use Kubernetes' API, such as controllers, in a
// simulated cluster: real API servers and real etcd on a simulated clock and network, with
// faults. A test runs once for each seed, and the same seed is the same run.
//
//	func TestCounter(t *testing.T) {
//		simtest.Seeds(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
//			c.Go("controller", func(ctx context.Context, config *rest.Config) error {
//				return runController(ctx, config)
//			})
//			c.Faults(30 * time.Second)
//			c.Eventually(func() error { return whatIsWrong(c.Client()) })
//		})
//	}
//
// `go test` is enough: the first time, the test rebuilds itself with a toolchain overlay that makes
// goroutines, clocks and random numbers a function of the seed, and keeps the result in the user's
// cache. Each seed runs in a copy of a process that has already booted the cluster, so that it
// costs only its own run.
//
// A failure names its seed and is kept in testdata/simtest, from where it runs first next time. `go
// test -run TestCounter -simtest.seed 42` runs one seed.
//
//   - seeds.go: a test, from its seeds to its failure.
//   - present.go: what it reports.
//   - peer.go: the processes that simulate, from the test's side.
//   - flags.go: the flags of `go test` that this package adds.
//   - shrink.go: fewer faults and actions, and simpler values, for the same failure.
//   - kept.go: failures that run first next time.
//   - build.go: the binary that can simulate.
//   - worker.go: the process that boots the cluster, and its copies.
//   - instrument.go: building with -race and -cover.
//   - property.go: a test whose values rapid.Check draws.
//   - draw.go: values that rapid draws, and actions.
//   - run.go: the run of one seed, also without a copy, for a debugger.
//   - booted.go, boot.go, stock.go: the cluster, in a binary that has one.
//   - cluster.go: what a test can do with its cluster.
//   - prepare.go: preparing the cluster before a test begins.
//   - faults.go: faults; answers.go: faults in the answers of API servers.
//   - program.go: the programs under test.
//   - recorded.go: recording what the programs see.
//   - t.go: the test as a run sees it.
package simtest
