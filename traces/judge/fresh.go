package judge

import (
	"fmt"
	"time"

	"github.com/watchsim/watchsim/linearizability"
)

// Demand fails a verdict if all that a server showed was stale for longer than a
// time. No specification promises how fresh a cache is; this is a bound of whoever
// asks.
func (v *Verdict) Demand(fresh time.Duration) {
	for i := range v.Stale {
		period := v.Stale[i].Period
		if period == nil || time.Duration(period.To-period.From) <= fresh {
			continue
		}
		v.Outcome, v.Reason = linearizability.Failed, ""
		v.Violations = append(v.Violations, Violation{Report: linearizability.Report{Guarantee: "Fresh", Code: "stale-too-long", Subject: "server", Server: v.Stale[i].Name, Text: fmt.Sprintf(
			"Fresh: all that server %s showed from %s to %s was stale, %d reads and streams (no server may show nothing but old states for longer than %v)",
			v.Stale[i].Name, v.at(period.From), v.at(period.To), period.Looks, fresh)}})
	}
}
