// Package faults answers one question: what goes wrong in a run, and when?
//
//   - A [Kind] is something that can go wrong: its name, its parameters, and
//     what must survive it. [Kinds] lists them (kinds.go).
//   - A [Point] is something the program does that a fault can wait for. [Points]
//     lists them (points.go).
//   - A [Plan] is a list of faults with their times or points, as text that people
//     can read and edit (plan.go, parse.go). [Plan.Check] says whether it can be
//     carried out, and [Locate] where in the text it cannot (check.go).
//   - [Generate] draws a plan (generate.go).
//   - [Run] carries a plan out on a [Surface], the simulated cluster, in
//     simulated time (engine.go, surface.go).
//
// Every fault that lasts heals: it says for how long it lasts, and the engine
// ends it even if the run is cut short.
package faults
