package mutant

// upstreamMutants are bugs that upstream's storage correctness suite keeps as patches and
// that no other file has. docs/upstream-suite.md lists all of them.
var upstreamMutants = []Mutant{
	{
		Name:        "k8s-142591",
		Summary:     "The cache's error for an object that is not there names no resourceVersion.",
		Source:      "kubernetes/kubernetes #142591, September 2026, in the cache: the store of 0.37 has it",
		Target:      "kubernetes",
		Module:      apiserver,
		File:        cacherFile,
		Anchor:      "			return storage.NewKeyNotFoundError(key, int64(readResourceVersion))\n",
		Replacement: "			return storage.NewKeyNotFoundError(key, 0*int64(readResourceVersion))\n",
		Hunt:        in("minute"),
	},
}
