// Package packed answers one question: what does a file hold that may be
// compressed?
//
// Files of runs are written with zstd where they are large. Readers take a file
// with and without compression, under either form of its name: whoever unpacks
// or packs one need not tell anybody.
//
//   - open.go: finding and reading a file, up to a limit on what it expands to
//   - writer.go: writing one, so that what there is of it can be read at any time
package packed
