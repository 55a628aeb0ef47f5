// Package faults answers one question: what goes wrong in a run, and when?
//
//   - A [Kind] is something that can go wrong: its name, its parameters, and
//     what must survive it. [Kinds] lists them (kinds.go and kinds_*.go).
//   - A [Parameter] is a named value of a fault and knows how it is printed, parsed,
//     drawn and checked (parameter.go).
//   - A [Point] is an operation that a fault can wait for. [Points] lists them
//     (points.go).
//   - A [Plan] is a list of faults with their times or points, as text that people
//     can read and edit (fault.go, parse.go). [Plan.Check] checks whether a cluster
//     can carry it out, and [Locate] where in the text it cannot (check.go).
//   - [Generate] draws a plan (generate.go).
//   - [Minimise] leaves out faults that a failure does not need (minimise.go).
//   - [Engine] carries out a plan on a [Surface], the simulated cluster, in
//     simulated time (engine.go, surface.go).
//
// Every fault that lasts heals: its duration is part of the plan, and the engine ends it
// even if the run is cut short.
package faults
