package faults

import (
	"fmt"
	"slices"
	"strings"
)

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

// Topology names what a plan can act on.
type Topology struct {
	// Members are etcd's, Servers the API servers.
	Members, Servers []string
	// Clients are all clients, Consumers those of them that read streams.
	Clients, Consumers []string
}

// Check reports the first fault that cannot fire in this topology, however the
// run goes: a name that does not exist, too few members, or another fault that
// acts on the same at that time.
func (p Plan) Check(topology Topology) error {
	for i, fault := range p {
		if err := fault.check(topology); err != nil {
			return err
		}
		for _, earlier := range p[:i] {
			if name, ok := contradict(earlier, fault, topology.Members); ok {
				return fmt.Errorf("faults: %q: expected %q to be over or yet to come, found that both act on %s", fault, earlier, name)
			}
		}
	}
	return nil
}

// contradict returns what two faults act on at one time, for sure: when one that
// waits for a point begins, nobody knows.
func contradict(one, other Fault, members []string) (name string, ok bool) {
	if one.Point != "" || other.Point != "" {
		return "", false
	}
	apart := one.End() <= other.At || other.End() <= one.At
	if apart && one.At != other.At {
		return "", false
	}
	return sharedHold(one, other, members)
}

func (f Fault) check(topology Topology) error {
	kind, ok := Lookup(f.Kind)
	if !ok {
		return fmt.Errorf("faults: %q: expected one of the kinds %s, found %q", f, kindNames(), f.Kind)
	}
	if len(topology.Members) < kind.MembersLeast {
		return fmt.Errorf("faults: %q: expected at least %d etcd members, found %d", f, kind.MembersLeast, len(topology.Members))
	}
	if f.Point != "" && !slices.Contains(topology.Servers, f.Process) {
		return fmt.Errorf("faults: %q: expected %s of one of %v, found %q", f, f.Point, topology.Servers, f.Process)
	}
	processes := slices.Concat(topology.Members, topology.Servers, topology.Clients)
	for _, parameter := range kind.Parameters {
		var known []string
		switch parameter.Name {
		case parameterMember.Name, parameterSurvivor.Name:
			known = topology.Members
		case parameterServer.Name:
			known = topology.Servers
		case parameterClient.Name:
			known = topology.Consumers
		case parameterFrom.Name, parameterTo.Name:
			known = processes
		default:
			continue
		}
		if name := parameter.get(f); !slices.Contains(known, name) {
			return fmt.Errorf("faults: %q: expected %s to be one of %v, found %q", f, parameter.Name, known, name)
		}
	}
	if f.From != "" && f.From == f.To {
		return fmt.Errorf("faults: %q: expected a link between two processes, found %s at both ends", f, f.From)
	}
	return nil
}

func kindNames() string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	return strings.Join(names, ", ")
}
