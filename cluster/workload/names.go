package workload

import "fmt"

// The sets of names that Config.Rename knows besides the usual one.
const (
	// NamesPrefixes are names and namespaces that are prefixes of each other, or sort on
	// either side of the slash that follows them in a key.
	NamesPrefixes = "prefixes"
	// NamesMany are more objects than most runs touch.
	NamesMany = "many"
	// NamesSingle is one object, over which all clients contend.
	NamesSingle = "single"
)

// manyNames is how many names each namespace has with NamesMany.
const manyNames = 200

// Rename replaces the names of objects and namespaces by a set of another kind; "" keeps
// them.
func (c *Config) Rename(set string) {
	switch set {
	case NamesPrefixes:
		c.Namespaces = []string{"a", "a-b", "ab"}
		c.Names = []string{"a", "a-b", "a.b", "ab", "a0"}
	case NamesMany:
		c.Names = nil
		for i := range manyNames {
			c.Names = append(c.Names, fmt.Sprintf("n%03d", i))
		}
	case NamesSingle:
		c.Namespaces, c.Names = c.Namespaces[:1], c.Names[:1]
	}
}

// initial returns the keys of the objects that are created at the beginning: those that
// writers use, in order, and further ones if they are not enough.
func (c Config) initial() []objectKey {
	var keys []objectKey
	for i := 0; len(keys) < c.Initial; i++ {
		name := fmt.Sprintf("extra-%04d", i-len(c.Names))
		if i < len(c.Names) {
			name = c.Names[i]
		}
		for _, namespace := range c.Namespaces {
			keys = append(keys, objectKey{namespace, name})
		}
	}
	return keys[:c.Initial]
}
