package faults

import "strings"

// planHeader is the first line of a printed plan. It is optional in plans that
// people write.
const (
	planHeaderPrefix = "# watchsim plan "
	planVersion      = "v1"
)

// Plan is what goes wrong in one run. Its faults may be in any order; those at
// the same time begin in the order of the plan.
type Plan []Fault

// String is the plan as text that [Parse] reads back:
//
//	# watchsim plan v1
//	at 12.5s etcd-crash member=etcd-0 down=2s
//	at 20s compaction revision=current
//	at 31s partition from=apiserver-0 to=etcd-0 for=4s
//	between 35s and 40s on list 1 of apiserver-0 compaction revision=deletion
func (p Plan) String() string {
	var text strings.Builder
	text.WriteString(planHeaderPrefix + planVersion + "\n")
	for _, fault := range p {
		text.WriteString(fault.String() + "\n")
	}
	return text.String()
}

func kindNames() string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	return strings.Join(names, ", ")
}
