package importer

import "crypto/sha256"

// memoBytes is how much text a Memo caches before it drops all of it.
const memoBytes = 16 << 20

// Memo caches the results of decoding texts, because the same version of an object reaches many clients, many times.
// Its zero value is empty. It is not safe for concurrent use.
type Memo[T any] struct {
	known map[[sha256.Size]byte]T
	bytes int
}

// Of returns the result for a text, which it creates once while it is cached. Callers share it. Errors are not cached, and a
// nil Memo caches nothing.
func (m *Memo[T]) Of(text []byte, create func(text []byte) (T, error)) (T, error) {
	if m == nil {
		return create(text)
	}
	key := sha256.Sum256(text)
	if made, is := m.known[key]; is {
		return made, nil
	}
	made, err := create(text)
	if err != nil {
		return made, err
	}
	if m.known == nil || m.bytes+len(text) > memoBytes {
		m.known, m.bytes = map[[sha256.Size]byte]T{}, 0
	}
	m.known[key] = made
	m.bytes += len(text)
	return made, nil
}
