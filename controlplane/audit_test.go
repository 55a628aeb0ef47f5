package controlplane_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// auditLine returns the line of a request that a server receives at a second and answers half a second later.
func auditLine(id, user, verb, uri string, code int, second int, answer string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":%q,"stage":"ResponseComplete","requestURI":%q,"verb":%q,"user":{"username":%q},`+
		`"objectRef":{"name":"a"},"responseStatus":{"code":%d},%s"requestReceivedTimestamp":"2000-01-01T00:00:%02d.000000Z","stageTimestamp":"2000-01-01T00:00:%02[7]d.500000Z"}`+"\n",
		id, uri, verb, user, code, answer, second)
}

// auditedPod returns pod a as in an answer.
func auditedPod(rv int, image string) string {
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"namespace":"red","name":"a","uid":"u","resourceVersion":"%d"},"spec":{"image":%q}}`, rv, image)
}

// auditedLog returns the log of a server.
func auditedLog() string {
	const all, one = "/api/v1/namespaces/red/pods", "/api/v1/namespaces/red/pods/a"
	answer := func(object string) string { return `"responseObject":` + object + `,` }
	list := answer(`{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[` + auditedPod(5, "1") + `]}`)
	return auditLine("1", "user", "create", all, 201, 1, answer(auditedPod(5, "1"))) +
		auditLine("2", "user", "list", all, 200, 2, list) +
		auditLine("3", "user", "update", one, 200, 3, `"requestObject":`+auditedPod(5, "2")+`,`+answer(auditedPod(8, "2"))) +
		auditLine("4", "user", "get", one, 404, 4, answer(`{"kind":"Status","code":404,"details":{"name":"a"}}`)) +
		auditLine("5", "user", "watch", all+"?watch=true", 200, 5, "") +
		auditLine("6", "system:apiserver", "list", all, 200, 2, list) +
		auditLine("7", "user", "get", one, 200, 6, answer(auditedPod(8, "2"))) +
		auditLine("8", "user", "get", "/healthz", 200, 7, "") +
		strings.Replace(auditLine("9", "user", "create", all, 500, 8, ""), `"name":"a"`, `"name":""`, 1)
}

// recordedBy returns the requests of a log as clients record them, except those of the server itself. Two
// have an unknown outcome.
func recordedBy(t *testing.T, log string) simtest.Seen {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte(log), 0o600))
	seen := simtest.Seen{Histories: map[string]*model.History{}, Requests: map[string][]*importer.Told{}, Committed: model.Truth{Revision: 8, Changes: []model.Change{
		{RV: 5, Object: model.Object{Name: "/registry/pods/red/a", Value: auditedPod(0, "1")}}, {RV: 8, Object: model.Object{Name: "/registry/pods/red/a", Value: auditedPod(0, "2")}}}}}
	var err error
	_, seen.Histories["pods"], _, err = importer.Import([]importer.File{{Kind: importer.Audit, Server: "a", Path: path}}, importer.Options{Resource: "pods", Tell: func(one *importer.Told) {
		told := *one
		told.Op.Objects = slices.Clone(one.Op.Objects)
		told.Call, told.Return = told.Call-1000, told.Return+1000
		for i := range told.Op.Objects {
			told.Op.Objects[i].Value = strings.Replace(told.Op.Objects[i].Value, "json:", "recorded:", 1)
		}
		switch told.AuditID {
		case "6":
			return
		case "7":
			told.AuditID, told.Code, told.Return, told.Op = "", 0, model.Pending, model.Operation{}
		case "9": // the server lost the connection before it had read the object and its name
			told.AuditID, told.Code, told.Return, told.Op, told.Scope.Name = "", 0, model.Pending, model.Operation{}, "a"
		}
		seen.Requests["pods"] = append(seen.Requests["pods"], &told)
	}})
	require.NoError(t, err)
	return seen
}

// TestAuditLogs compares a log with what clients have recorded, as it is and tampered with.
func TestAuditLogs(t *testing.T) {
	log := auditedLog()
	lines := slices.Collect(strings.Lines(log))
	for name, row := range map[string]struct {
		log, says string
	}{
		"unchanged":                         {log: log},
		"a line is missing":                 {log: strings.Replace(log, lines[1], "", 1), says: "the list of red/ by user on a (Audit-Id 2, answered with 200) is not in the log"},
		"a duplicate line":                  {log: log + lines[1], says: "(Audit-Id 2, answered with 200) is there twice"},
		"a line without a request":          {log: log + strings.Replace(lines[1], `"2"`, `"10"`, 1), says: "(Audit-Id 10, answered with 200) is in the log, and no client has sent it"},
		"unknown outcome, another client":   {log: strings.Replace(log, lines[8], strings.Replace(lines[8], `"verb"`, `"userAgent":"else","verb"`, 1), 1), says: "(Audit-Id 9, answered with 500) is in the log, and no client has sent it"},
		"another resourceVersion":           {log: strings.Replace(log, lines[2], strings.Replace(lines[2], `"8"`, `"9"`, 1), 1), says: "(Audit-Id 3, answered with 200) has another resourceVersion: its client knows 8, the log 9"},
		"another resourceVersion of a list": {log: strings.Replace(log, lines[1], strings.Replace(lines[1], `"7"`, `"6"`, 1), 1), says: "has another resourceVersion: its client knows 7, the log 6"},
		"another object in a list":          {log: strings.Replace(log, lines[1], strings.Replace(lines[1], `"uid":"u"`, `"uid":"v"`, 1), 1), says: `has returned red/a at 5 with UID u, labels map[], on "", the log says red/a at 5 with UID v`},
		"another content":                   {log: strings.Replace(log, lines[1], strings.Replace(lines[1], `"image":"1"`, `"image":"2"`, 1), 1), says: "has returned another content of red/a at 5"},
		"another precondition":              {log: strings.Replace(log, lines[2], strings.Replace(lines[2], `"resourceVersion":"5"`, `"resourceVersion":"4"`, 1), 1), says: "was sent with resourceVersion 5, the log says 4"},
		"another verb":                      {log: strings.Replace(log, lines[2], strings.Replace(lines[2], `"verb":"update"`, `"verb":"get"`, 1), 1), says: "has another verb: its client knows update, the log get"},
		"another code":                      {log: strings.Replace(log, lines[3], strings.Replace(lines[3], `"code":404`, `"code":410`, 1), 1), says: "(Audit-Id 4, answered with 410) was answered with 404"},
		"received later":                    {log: strings.Replace(log, lines[3], strings.ReplaceAll(lines[3], "00:00:04", "00:00:05"), 1), says: "was received at 00:00:05.000000, and lasted from 00:00:03.999999 to 00:00:04.500001"},
		"answered later":                    {log: strings.Replace(log, lines[3], strings.Replace(lines[3], "00:00:04.5", "00:00:06.6", 1), 1), says: "was answered at 00:00:06.600000, and lasted"},
		"a list that contradicts others":    {log: strings.Replace(log, lines[5], strings.Replace(lines[5], auditedPod(5, "1"), "", 1), 1), says: "shows a violation that clients did not see: Exact-state: system:apiserver's list of namespace red (operation"},
		"a line that is not JSON":           {log: strings.Replace(log, `"verb":"watch"`, `"verb":`, 1), says: "expected audit logs that can be imported, found that those about pods cannot"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, left := t.TempDir(), []string{}
			require.NoError(t, os.WriteFile(filepath.Join(folder, "audit-a.log"), []byte(row.log), 0o600))
			seen := recordedBy(t, log)
			seen.Unjudged = func(resource, why string) { left = append(left, resource+": "+why) }
			wrong, err := controlplane.Audited(seen, folder)
			if err != nil {
				wrong = append(wrong, err.Error())
			}
			if row.says == "" {
				require.Empty(t, wrong)
				slices.Sort(left)
				require.Equal(t, []string{"pods: in audit logs, requests of API servers themselves, and of the setup of the cluster: they are not recorded",
					"pods: in audit logs, requests whose outcome is unknown"}, left)
				return
			}
			require.Contains(t, strings.Join(wrong, "\n"), row.says)
		})
	}
	_, err := controlplane.Audited(simtest.Seen{}, t.TempDir())
	require.EqualError(t, err, "expected the audit logs of servers, found none")
}

// TestClocksOfAuditLogs: a server whose clock was moved back says that it received requests earlier.
func TestClocksOfAuditLogs(t *testing.T) {
	log := auditedLog()
	folder := t.TempDir()
	began := time.Date(2000, 1, 1, 0, 0, 4, 0, time.UTC)
	moved := strings.NewReplacer("2000-01-01T00:00:04", began.Add(-time.Hour).Format("2006-01-02T15:04:05")).Replace(log)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "audit-a.log"), []byte(moved), 0o600))
	for says, faults := range map[string][]model.Fault{
		"was received at 23:00:04.000000, and lasted from 00:00:03.999999": nil,
		"": {{Name: "clock-jump", Note: "process=a by=-1h0m0s for=1s", Processes: []string{"a"}}},
	} {
		seen := recordedBy(t, log)
		seen.Unjudged = func(string, string) {}
		seen.Histories["pods"].Faults = faults
		wrong, err := controlplane.Audited(seen, folder)
		require.NoError(t, err)
		require.Equal(t, says == "", len(wrong) == 0, wrong)
		require.Contains(t, strings.Join(wrong, "\n"), says)
	}
}
