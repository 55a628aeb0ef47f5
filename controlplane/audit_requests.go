package controlplane

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// Reasons why a request is not compared.
const (
	leftStrangers = "requests of API servers themselves, and of the setup of the cluster: they are not recorded"
	leftLost      = "requests whose outcome is unknown"
	leftRefused   = "requests that failed before they reached a server"
	leftOpen      = "watches that had not ended"
	leftTooLate   = "requests that a server answered with 504 and went on with: the log has the final outcome"
	leftOutside   = "requests that a server refused before authentication: they are not logged"
	leftUnread    = "requests that one side cannot decode, such as those for subresources"
	leftContents  = "contents of objects of which the client received only metadata, or protobuf of a type that client-go does not have"
	leftBroken    = "requests whose answer broke off: the server crashed before it wrote the line"
)

// comparison compares the audit logs of a resource with what clients have recorded.
type comparison struct {
	clocks   clocks
	recorded []*importer.Told
	byID     map[string]*importer.Told
	done     map[*importer.Told]bool
	alone    []*importer.Told // only in a log
	// digests maps the digests of the recorder to those of the log, and vice versa.
	digests map[string]string
	wrong   []string
	left    map[string]int
}

func newComparison(recorded []*importer.Told, clocks clocks) *comparison {
	c := &comparison{clocks: clocks, recorded: recorded, byID: map[string]*importer.Told{}, done: map[*importer.Told]bool{}, digests: map[string]string{}, left: map[string]int{}}
	for _, one := range recorded {
		if one.AuditID != "" {
			c.byID[one.AuditID] = one
		}
	}
	return c
}

// add compares a request of a log. Audit-Ids are unique, as no client sets its own.
func (c *comparison) add(logged *importer.Told) {
	recorded := c.byID[logged.AuditID]
	switch {
	case recorded == nil:
		c.alone = append(c.alone, logged)
	case c.done[recorded]:
		c.differ(logged, "is there twice")
	default:
		c.done[recorded] = true
		c.compare(recorded, logged)
	}
}

func (c *comparison) differ(logged *importer.Told, format string, arguments ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf("%s %s", describeTold(logged), fmt.Sprintf(format, arguments...)))
}

// describeTold describes a request for reports.
func describeTold(t *importer.Told) string {
	what := string(t.Kind)
	if t.Watch {
		what = "watch"
	}
	return fmt.Sprintf("the %s of %s/%s by %s on %s (Audit-Id %s, answered with %d)", what, t.Scope.Namespace, t.Scope.Name, t.Client, t.Server, t.AuditID, t.Code)
}

// compare compares a request as recorded by a client and by a log.
func (c *comparison) compare(recorded, logged *importer.Told) {
	if recorded.Server != logged.Server {
		c.differ(logged, "was answered by %s", recorded.Server)
	}
	if !c.within(logged.Call, recorded, logged.Server) {
		c.differ(logged, "was received at %v, and lasted from %v to %v", clock(logged.Call), clock(recorded.Call), clock(recorded.Return))
	}
	if recorded.Return == model.Pending || recorded.Code == 0 {
		c.left[leftLost]++
		return
	}
	if recorded.Code != logged.Code {
		if recorded.Code == 504 {
			c.left[leftTooLate]++
			return
		}
		c.differ(logged, "was answered with %d", recorded.Code)
		return
	}
	if recorded.Watch != logged.Watch {
		c.differ(logged, "is a watch for one of them")
	}
	if recorded.Watch {
		return
	}
	late := *recorded
	late.Return += heldUp
	if !c.within(logged.Return, &late, logged.Server) {
		c.differ(logged, "was answered at %v, and lasted from %v to %v", clock(logged.Return), clock(recorded.Call), clock(recorded.Return))
	}
	if recorded.Omitted != "" || logged.Omitted != "" || recorded.Code < 300 && recorded.Op.Err != model.OK {
		c.left[leftUnread]++
	} else {
		c.contents(recorded, logged)
	}
}

// contents compares the contents of requests and answers.
func (c *comparison) contents(recorded, logged *importer.Told) {
	r, l := recorded.Op, logged.Op
	for _, field := range []struct {
		name             string
		recorded, logged any
	}{
		{"verb", r.Kind, l.Kind}, {"scope", r.Scope, l.Scope}, {"object", objectKey(r.Object), objectKey(l.Object)},
		{"selector", fmt.Sprint(r.Selector), fmt.Sprint(l.Selector)}, {"resourceVersion asked for", r.RV, l.RV}, {"resourceVersionMatch", r.Match, l.Match},
		{"limit", r.Limit, l.Limit}, {"continue token", recorded.Continue, logged.Continue}, {"failure", r.Err, l.Err},
		{"resourceVersion", r.ResultRV, l.ResultRV}, {"more to come", r.HasMore, l.HasMore}, {"remaining", r.Remaining, l.Remaining},
		{"number of objects", len(r.Objects), len(l.Objects)},
	} {
		if field.recorded != field.logged {
			c.differ(logged, "has another %s: its client knows %v, the log %v", field.name, field.recorded, field.logged)
			return
		}
	}
	if r.Precondition != 0 && r.Precondition != l.Precondition {
		c.differ(logged, "was sent with resourceVersion %d, the log says %d", r.Precondition, l.Precondition)
	}
	for i := range r.Objects {
		r, l := r.Objects[i], l.Objects[i]
		if describeObject(r) != describeObject(l) {
			c.differ(logged, "has returned %s, the log says %s", describeObject(r), describeObject(l))
		}
		switch {
		case r.Value == "" && l.Value != "":
			c.left[leftContents]++
		case r.Value != "" && l.Value == "" || !c.same("r"+r.Value, l.Value) || !c.same("l"+l.Value, r.Value):
			c.differ(logged, "has returned another content of %s than the log has", describeObject(r))
		}
	}
}

// same pairs a digest with another one, and returns false if it is paired with a third one.
func (c *comparison) same(digest, other string) bool {
	if before, known := c.digests[digest]; known {
		return before == other
	}
	c.digests[digest] = other
	return true
}

func objectKey(o *model.Object) model.Key {
	if o == nil {
		return model.Key{}
	}
	return o.Key()
}

func describeObject(o model.Object) string {
	return fmt.Sprintf("%s/%s at %d with UID %s, labels %v, on %q", o.Namespace, o.Name, o.RV, o.UID, o.Labels, o.Node)
}

// precision is the precision of times in an audit log.
const precision = int64(time.Microsecond)

// heldUp is how much later than its client a server may finish a request: its goroutine may be stalled after it has
// sent the answer.
const heldUp = int64(time.Second)

// within reports whether a time of a server lies within a request, given its clock jumps.
func (c *comparison) within(time int64, request *importer.Told, server string) bool {
	for _, ahead := range append(c.clocks[server], 0) {
		real := time - ahead.Nanoseconds()
		if real >= request.Call-precision && (request.Return == model.Pending || real <= request.Return) {
			return true
		}
	}
	return false
}

func clock(nanoseconds int64) string {
	if nanoseconds == model.Pending {
		return "ever"
	}
	return time.Unix(0, nanoseconds).UTC().Format("15:04:05.000000")
}

// end explains requests that only one side has.
func (c *comparison) end() {
	for _, logged := range c.alone {
		switch {
		case isStranger(logged.Client):
			c.left[leftStrangers]++
			continue
		case logged.Omitted == importer.OmittedSelectors:
			c.left[importer.OmittedSelectors]++ // clients do not record these
			continue
		}
		var latest *importer.Told // leaves earlier requests to earlier lines of the log
		for _, r := range c.recorded {
			if !c.done[r] && c.unanswered(r, logged) && (latest == nil || latest.Call < r.Call) {
				latest = r
			}
		}
		if latest == nil {
			c.differ(logged, "is in the log, and no client has sent it")
			continue
		}
		c.done[latest] = true
		c.left[leftLost]++
	}
	for _, recorded := range c.recorded {
		switch {
		case c.done[recorded]:
		case recorded.Return == model.Pending || recorded.Code == 0:
			c.left[leftLost]++ // nor has a server finished it
		case recorded.AuditID == "":
			c.left[leftRefused]++
		case recorded.Watch && recorded.Code == 200:
			c.left[leftOpen]++
		case recorded.Code == 504:
			c.left[leftTooLate]++
		case recorded.Code == 429 || recorded.Code == 503:
			c.left[leftOutside]++
		case recorded.Omitted != "" && recorded.Code < 300:
			c.left[leftBroken]++
		default:
			c.differ(recorded, "is not in the log")
		}
	}
}

// isStranger reports whether the requests of a client are not recorded.
func isStranger(client string) bool {
	name, _, _ := strings.Cut(client, "/")
	return name == "system:apiserver" || name == "setup"
}

// unanswered reports whether a request with an unknown outcome may be the one of a log.
func (c *comparison) unanswered(recorded, logged *importer.Told) bool {
	r, l := recorded.Request, logged.Request
	if logged.Kind == model.Create && (r.Scope.Name == "" || l.Scope.Name == "") {
		r.Scope.Name, l.Scope.Name = "", "" // generated by the server, or not read before the connection was lost
	}
	return (recorded.Return == model.Pending || recorded.Code == 0) && recorded.Agent == logged.Agent && (recorded.Watch || recorded.Kind == logged.Kind) &&
		fmt.Sprint(r) == fmt.Sprint(l) && c.within(logged.Call, &importer.Told{Exchange: importer.Exchange{Call: recorded.Call, Return: model.Pending}}, logged.Server)
}
