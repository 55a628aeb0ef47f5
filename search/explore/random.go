package explore

// random is the random walk with stalls that a seed alone makes: one seed after the
// other, without end.
type random struct{ next uint64 }

// NewRandom returns the strategy that leaves everything to seeds, from first on.
func NewRandom(first uint64) Strategy { return &random{next: first} }

func (r *random) Next() []Attempt {
	r.next++
	return []Attempt{{Seed: r.next - 1, Observe: true}}
}

func (*random) Learn(Attempt, Outcome) {}

func (*random) Exhausted() string { return "" }
