//go:build race

package swarm

// workersMemory is what all workers may take together, in bytes. The race
// detector keeps a shadow of the memory, and what a run leaves behind is not
// buried under it, so that less than this would replace a worker after each run.
const workersMemory = 8 << 30
