package simtest

// Watch storms run on the cluster below this package, with clients like those of programs.
var (
	DialInTurn  = dialInTurn
	ListPlainly = listPlainly
)
