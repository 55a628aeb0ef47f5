// Command simrun runs a Kubernetes watch cache in a deterministic simulation
// and checks what it did.
//
//	simrun --seed 7              one seed: run it, check it, keep its artifacts
//	simrun --seeds 1-2000        many seeds over all cores
//	simrun replay out/FOLDER     the recorded tape again, with the same hash
//	simrun shrink out/FOLDER     the same failure with less
//	simrun check FILE...         recorded histories, whoever recorded them
//	simrun scenarios             what can be run
//
// It exits with 0 if everything passed, 1 if a guarantee was broken, 2 if it
// was used wrongly or could not do its work, 3 if nothing was broken but
// something could not be decided.
package main

import "github.com/watchsim/watchsim/simrun"

func main() { simrun.Main() }
