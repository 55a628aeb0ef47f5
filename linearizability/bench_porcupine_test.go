package linearizability_test

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/watchsim/watchsim/model"
)

// plainOperation is a write or a most-recent read without its resourceVersions, as for a
// checker that does not use them.
type plainOperation struct {
	kind model.Kind
	// key and value are small numbers; value 0 is that there is no object.
	key, value int32
	// listed are the keys of a list's namespace in [key, key+names), and values
	// what it found there.
	values       []int32
	call, answer int64
	unknown      bool
}

// plainly strips the resourceVersions from the operations of a history that have a
// meaning without them.
func plainly(h *model.History) []plainOperation {
	values := map[string]int32{}
	keys := map[model.Key]int32{}
	// Keys of a namespace are numbered one after the other.
	for i := range int32(benchNamespaces * benchNames) {
		keys[benchKey(int(i))] = i
	}
	value := func(o *model.Object) int32 {
		if _, known := values[o.Value]; !known {
			values[o.Value] = int32(len(values) + 1)
		}
		return values[o.Value]
	}
	var plain []plainOperation
	for op := range model.Each(h.Operations) {
		p := plainOperation{kind: op.Kind, call: op.Call, answer: op.Return, unknown: op.Err == model.Unknown}
		switch op.Kind {
		case model.Create, model.Update:
			p.key, p.value = keys[op.Object.Key()], value(op.Object)
		case model.Delete:
			p.key = keys[model.Key(op.Scope)]
		case model.Get:
			if p.key = keys[model.Key(op.Scope)]; len(op.Objects) > 0 {
				p.value = value(&op.Objects[0])
			}
		case model.List:
			p.key, p.values = keys[model.Key{Namespace: op.Scope.Namespace, Name: benchKey(0).Name}], make([]int32, benchNames)
			for j := range op.Objects {
				p.values[keys[op.Objects[j].Key()]-p.key] = value(&op.Objects[j])
			}
		}
		if (op.Kind == model.Get || op.Kind == model.List) && (op.RV != model.RVUnset || !op.Selector.Empty()) {
			continue // the cache may answer from the past; and values say nothing of labels
		}
		if p.unknown {
			p.answer = math.MaxInt64
		}
		plain = append(plain, p)
	}
	return plain
}

// wholeStore is the content of all keys as one state, as lists need it.
var wholeStore = porcupine.Model{
	Init: func() any { return make([]int32, benchNamespaces*benchNames) },
	Step: func(state, input, _ any) (bool, any) {
		now, p := state.([]int32), input.(*plainOperation)
		switch p.kind {
		case model.Get:
			return now[p.key] == p.value, state
		case model.List:
			return slices.Equal(now[p.key:p.key+benchNames], p.values), state
		}
		ok, value := p.write(now[p.key])
		if !ok || value == now[p.key] {
			return ok, state
		}
		next := slices.Clone(now)
		next[p.key] = value
		return true, next
	},
	Equal: func(a, b any) bool { return slices.Equal(a.([]int32), b.([]int32)) },
}

// oneRegister is the content of one key, which makes the search as easy as possible. It
// leaves out lists, which are not about one key.
var oneRegister = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, benchNamespaces*benchNames)
		for _, op := range all {
			if p := op.Input.(*plainOperation); p.kind != model.List {
				parts[p.key] = append(parts[p.key], op)
			}
		}
		return slices.DeleteFunc(parts, func(part []porcupine.Operation) bool { return len(part) == 0 })
	},
	Init: func() any { return int32(0) },
	Step: func(state, input, _ any) (bool, any) {
		p := input.(*plainOperation)
		if p.kind == model.Get {
			return state.(int32) == p.value, state
		}
		ok, next := p.write(state.(int32))
		return ok, next
	},
}

// write reports whether the write can have had the outcome it had, and the
// content of its key afterwards.
func (p *plainOperation) write(now int32) (bool, int32) {
	switch {
	case p.kind == model.Create && now != 0, p.kind != model.Create && now == 0:
		return p.unknown, now // a write of unknown outcome may have had no effect
	}
	return true, p.value
}

// searchPlain has porcupine check a history without resourceVersions.
func searchPlain(m porcupine.Model, operations []plainOperation, limit time.Duration) porcupine.CheckResult {
	history := make([]porcupine.Operation, len(operations))
	for i := range operations {
		history[i] = porcupine.Operation{Input: &operations[i], Call: operations[i].call, Return: operations[i].answer}
	}
	return porcupine.CheckOperationsTimeout(m, history, limit)
}
