package traces

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

func (v *validation) allOperations() error {
	written := map[writtenValue]int{}
	for i := range v.history.Operations {
		op := &v.history.Operations[i]
		at := place{kindOperation, i, fmt.Sprintf("operation %d", op.ID)}
		if err := v.operation(at, op); err != nil {
			return err
		}
		if err := v.request(at, op); err != nil {
			return err
		}
		if err := v.uniqueValue(at, op, written); err != nil {
			return err
		}
		if err := v.response(at, op); err != nil {
			return err
		}
		v.operations[op.ID] = i
	}
	return nil
}

// operation judges who did what and when.
func (v *validation) operation(at place, op *model.Operation) error {
	_, again := v.operations[op.ID]
	switch {
	case op.ID < 1:
		return v.bad(at, "id", "a number from 1 on", op.ID)
	case again:
		return v.bad(at, "id", "a number that no operation before it has", op.ID)
	case op.Client == "":
		return v.bad(at, "client", "the name of a client", "")
	case op.Server == "":
		return v.bad(at, "server", "the name of a server", "")
	case !v.within(op.Call):
		return v.bad(at, "call", v.until(0, ""), op.Call)
	case op.Return != model.Pending && (op.Return < op.Call || !v.within(op.Return)):
		return v.bad(at, "return", v.until(op.Call, "its call")+", or -1 for never", op.Return)
	}
	return nil
}

// request judges what was asked for.
func (v *validation) request(at place, op *model.Operation) error {
	switch op.Kind {
	case model.Create, model.Update:
		if op.Object == nil || op.Object.Name == "" {
			return v.bad(at, "object", fmt.Sprintf("the object that the %s writes, with its name", op.Kind), "none")
		}
	case model.Delete, model.Get:
		if op.Object == nil && op.Scope.Name == "" {
			return v.bad(at, "scope.name", fmt.Sprintf("the name of the object to %s", op.Kind), "")
		}
		if op.Object != nil && op.Object.Name == "" {
			return v.bad(at, "object.name", fmt.Sprintf("the name of the object to %s", op.Kind), "")
		}
	case model.List:
	default:
		return v.bad(at, "kind", "create, update, delete, get or list", string(op.Kind))
	}
	switch op.Match {
	case model.MatchUnset, model.MatchExact, model.MatchNotOlderThan:
	default:
		return v.bad(at, "match", "Exact, NotOlderThan or nothing", string(op.Match))
	}
	switch {
	case op.RV < model.RVUnset:
		return v.bad(at, "rv", requestRVs, op.RV)
	case op.Precondition < 0:
		return v.bad(at, "precondition", "a resourceVersion, or 0 for none", op.Precondition)
	case op.Limit < 0:
		return v.bad(at, "limit", "the most items of a page, or 0 for no limit", op.Limit)
	}
	return nil
}

// response judges what was answered.
func (v *validation) response(at place, op *model.Operation) error {
	switch {
	case !codes[op.Err]:
		return v.bad(at, "err", errCodes, string(op.Err))
	case op.ResultRV < 0:
		return v.bad(at, "resultRV", "a resourceVersion, or 0 for none", op.ResultRV)
	case op.Remaining < -1:
		return v.bad(at, "remaining", "a number of items, or -1 if the server gave none", op.Remaining)
	}
	return v.objects(at, op.Objects)
}

// writtenValue is what a write meant to make of an object.
type writtenValue struct {
	key   model.Key
	value string
}

// uniqueValue demands that every write of an object has content of its own: it
// is by its value that a write is found among what etcd committed.
func (v *validation) uniqueValue(at place, op *model.Operation, written map[writtenValue]int) error {
	if op.Kind != model.Create && op.Kind != model.Update {
		return nil
	}
	value := writtenValue{op.Object.Key(), op.Object.Value}
	if before, again := written[value]; again {
		return v.bad(at, "object.value", fmt.Sprintf("a value that no other write of %s has, such as operation %d", value.key, before), value.value)
	}
	written[value] = op.ID
	return nil
}
