package explain

import "github.com/watchsim/watchsim/linearizability"

// Report is a violation of a verdict, with what explains it.
type Report struct {
	linearizability.Report
	// Explanation is what happened around it, in paragraphs; only the first violations
	// of a verdict have one.
	Explanation []string `json:"explanation,omitempty"`
	// Slice is what led to it, in order of time; the same violations have one.
	Slice []Moment `json:"slice,omitempty"`
}

// Reports puts violations into words, the first so many of them into paragraphs.
func (e *Explainer) Reports(found []linearizability.Violation, most int) []Report {
	reports := make([]Report, len(found))
	for i, violation := range found {
		reports[i].Report = violation.Report()
		if i < most {
			reports[i].Explanation, reports[i].Slice = e.Explain(violation), e.Slice(violation)
		}
	}
	return reports
}
