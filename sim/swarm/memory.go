//go:build !race

package swarm

// workersMemory is what all workers may take together, in bytes. It leaves room
// below 2 GiB for the coordinator, the last run of each worker, and the fresh
// workers that confirm failures.
const workersMemory = 1500 << 20
