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

// family returns the part of a digest that says which others it can be compared with.
func family(digest string) string {
	name, _, _ := strings.Cut(digest, ":")
	return name
}

// settle decides the content of each version. If the digests of etcd's own values can
// be compared with those that clients saw, etcd's are right; otherwise the most frequent
// digest is, and among equally frequent ones the first.
func (t *truth) settle() {
	t.recording.eachSight(func(s sight) { t.vote(t.at(s.object.Key(), s.rv), s.object) })
	t.recording.eachDeletion(t.inferLast)
	t.recording.eachDeletion(func(s sight) { t.vote(t.current(s.object.Key(), s.rv-1), s.object) })
	for _, op := range t.recording.operations {
		// The object that an update requires is the one that it returns.
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
	i := slices.IndexFunc(v.seen, func(seen vote) bool { return seen.digest == object.Value })
	if i < 0 {
		i, v.seen = len(v.seen), append(v.seen, vote{digest: object.Value})
	}
	v.seen[i].count++
}

// comparable reports whether etcd's values can be compared with what clients saw.
// They cannot if etcd stores another API version than clients request: then none of
// them agrees.
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
	for _, vote := range v.seen { // in order of observation, so that the choice is deterministic
		if digest := v.digests[family(vote.digest)]; first == "" && digest != "" {
			first = digest
		}
	}
	if first == "" {
		first = v.digests[family(v.stored)]
	}
	v.object.Value = valueOf(first, v.rv)
}

// valueOf returns the value of a version, unique among the versions of the object.
func valueOf(digest string, rv int64) string {
	_, digest, _ = strings.Cut(digest, ":")
	if digest == "" {
		digest = "unknown"
	}
	return fmt.Sprintf("%s@%d", digest, rv)
}
