package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// vote is how often a digest was seen.
type vote struct {
	digest string
	count  int
}

// family is the part of a digest that says with which others it can be compared.
func family(digest string) string {
	name, _, _ := strings.Cut(digest, ":")
	return name
}

// settle decides what each version held. Where the digests of etcd's own values can
// be compared with what clients saw, those are right; elsewhere what most saw is,
// and of equally many what was seen first.
func (t *truth) settle() {
	t.recording.eachSight(func(s sight) { t.vote(t.at(s.object.Key(), s.rv), s.object) })
	t.recording.eachDeletion(t.inferLast)
	t.recording.eachDeletion(func(s sight) { t.vote(t.current(s.object.Key(), s.rv-1), s.object) })
	for _, op := range t.recording.operations {
		// What an update was conditioned on is the object that it was answered with.
		if op.Kind == model.Update && op.Err == model.OK && op.Precondition > 0 && len(op.Objects) > 0 {
			if v := t.at(op.Key(), op.Precondition); v != nil && v.object.UID == "" {
				v.object.UID = op.Objects[0].UID
			}
		}
	}
	comparable := t.comparable()
	for _, versions := range t.versions {
		for i, v := range versions {
			v.decide(comparable)
			if v.object.UID == "" && i > 0 && (v.deleted || !versions[i-1].deleted) {
				v.object.UID = versions[i-1].object.UID
			}
		}
	}
}

func (t *truth) vote(v *version, object *model.Object) {
	if v == nil || v.deleted {
		return
	}
	v.learn(object)
	if object.Value == "" {
		return
	}
	for i := range v.seen {
		if v.seen[i].digest == object.Value {
			v.seen[i].count++
			return
		}
	}
	v.seen = append(v.seen, vote{object.Value, 1})
}

// comparable reports whether etcd's values can be compared with what clients saw.
// They cannot if etcd holds another version of the API than clients ask for: then
// not one of them agrees.
func (t *truth) comparable() bool {
	for _, versions := range t.versions {
		for _, v := range versions {
			if v.stored != "" && slices.ContainsFunc(v.seen, func(seen vote) bool { return seen.digest == v.stored }) {
				return true
			}
		}
	}
	return false
}

// decide chooses a digest of each family, and the value that the history has.
func (v *version) decide(comparable bool) {
	v.digests = map[string]string{}
	if comparable && v.stored != "" {
		v.digests[family(v.stored)] = v.stored
	}
	most, first := map[string]int{}, ""
	for _, vote := range v.seen {
		of := family(vote.digest)
		if comparable && v.stored != "" && of == family(v.stored) {
			continue
		}
		if vote.count > most[of] {
			most[of], v.digests[of] = vote.count, vote.digest
		}
	}
	for _, vote := range v.seen { // in order of sight, so that the choice is always the same
		if digest := v.digests[family(vote.digest)]; first == "" && digest != "" {
			first = digest
		}
	}
	if first == "" {
		first = v.digests[family(v.stored)]
	}
	v.object.Value = valueOf(first, v.rv)
}

// valueOf makes the value of a version, which no other version of the object has.
func valueOf(digest string, rv int64) string {
	_, digest, _ = strings.Cut(digest, ":")
	if digest == "" {
		digest = "unknown"
	}
	return fmt.Sprintf("%s@%d", digest, rv)
}
