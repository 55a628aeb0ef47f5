package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces"
)

// FuzzCheck requires that no valid history makes the oracle or an explanation panic.
func FuzzCheck(f *testing.F) {
	whole := example(f)
	f.Add(whole)
	f.Add(wrong(f))
	f.Add(unknown(f))
	for _, damage := range [][2]string{
		{`"type":"MODIFIED"`, `"type":"DELETED"`}, {`"type":"ADDED"`, `"type":"BOOKMARK"`}, {`"type":"BOOKMARK"`, `"type":"ERROR"`},
		{`"kind":"update"`, `"kind":"delete"`}, {`"kind":"create"`, `"kind":"get"`}, {`"kind":"list"`, `"kind":"get"`},
		{`"err":"Expired"`, `"err":"TooLarge"`}, {`"err":"Conflict"`, `"err":"Unknown"`}, {`"closed":50000000`, `"closed":-1`},
		{`"rv":-1`, `"rv":0`}, {`"rv":5`, `"rv":9223372036854775807`}, {`"resultRV":3`, `"resultRV":9223372036854775807`},
		{`"objects":[`, `"objects":[{"namespace":"","name":"","value":"","rv":0},`}, {`"initialEnd":true`, `"initialEnd":false`},
		{`"continues":3`, `"continues":12`}, {`"return":8000000`, `"return":-1`}, {`,"object":{`, `,"label":{`},
		{`"resumesStream":5`, `"resumesStream":10`}, {`"lastSyncRV":6`, `"lastSyncRV":0`}, {`"remaining":1`, `"remaining":9`},
		{`"deleted":true`, `"deleted":false`}, {`"server":"apiserver-0"`, `"server":"s"`}, {`"phase":"left"`, `"phase":"stopped"`},
	} {
		f.Add(strings.ReplaceAll(whole, damage[0], damage[1]))
	}
	f.Fuzz(func(t *testing.T, text string) { judged(t, text) })
}

// judged returns the outcome of a history, empty for an invalid one.
func judged(t testing.TB, text string) linearizability.Outcome {
	_, history, err := traces.ReadValidHistory(strings.NewReader(text))
	if err != nil {
		return ""
	}
	limits := config()
	limits.SearchTimeout = 1e9
	v := History(history, limits)
	require.Contains(t, []linearizability.Outcome{linearizability.Passed, linearizability.Failed, linearizability.Inconclusive}, v.Outcome)
	require.NotEmpty(t, v.Report())
	return v.Outcome
}

// FuzzDamage changes a few fields of the example, which reaches further than changing
// its bytes, because most of the results are valid.
func FuzzDamage(f *testing.F) {
	lines := strings.Split(strings.TrimSpace(example(f)), "\n")
	f.Add(uint64(1), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, changes uint8) { damageAndJudge(t, lines, seed, int(changes)%6+1) })
}

// TestDamagedHistoriesAreJudged is a short run of that, and says what became of
// the damage: most kinds of it have to come out as one of the three verdicts.
func TestDamagedHistoriesAreJudged(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(example(t)), "\n")
	outcomes := map[linearizability.Outcome]int{}
	for seed := range uint64(2000) {
		outcomes[damageAndJudge(t, lines, seed, int(seed)%6+1)]++
	}
	require.Greater(t, outcomes[linearizability.Failed], 200, "%v", outcomes)
	require.Greater(t, outcomes[linearizability.Passed], 40, "%v", outcomes)
	require.Greater(t, outcomes[""], 200, "refused: %v", outcomes)
}

func damageAndJudge(t testing.TB, lines []string, seed uint64, changes int) linearizability.Outcome {
	random := rand.New(rand.NewPCG(seed, 11))
	return judged(t, strings.Join(damaged(t, lines, random, changes), "\n"))
}

// damaged gives fields of records the values that the same field has elsewhere,
// or extreme ones, or takes them away.
func damaged(t testing.TB, lines []string, random *rand.Rand, changes int) []string {
	lines = slices.Clone(lines)
	for range changes {
		i := 1 + random.IntN(len(lines)-1)
		from := 1 + random.IntN(len(lines)-1)
		record, other := decoded(t, lines[i]), decoded(t, lines[from])
		of, by := record["data"].(map[string]any), other["data"].(map[string]any)
		for inner, is := of["object"].(map[string]any); is && random.IntN(3) == 0; {
			of, is = inner, false
		}
		fields := slices.Sorted(maps.Keys(of))
		field := fields[random.IntN(len(fields))]
		switch value, known := by[field]; {
		case known && random.IntN(2) == 0:
			of[field] = value
		case random.IntN(8) == 0:
			delete(of, field)
		default:
			of[field] = another(of[field], random)
		}
		line, err := json.Marshal(record)
		require.NoError(t, err)
		lines[i] = string(line)
	}
	return lines
}

// another returns a value of the same type.
func another(value any, random *rand.Rand) any {
	switch value := value.(type) {
	case json.Number:
		n, _ := value.Int64()
		return json.Number(fmt.Sprint([]int64{n + 1, n - 1, 0, -1, 1, 3, 5, 7, 60_000_000, 1<<63 - 1}[random.IntN(10)]))
	case string:
		return []string{"", "default", "a", "b", "app", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "Unknown", "Expired",
			"TooLarge", "NotFound", "get", "list", "delete", "client", "server", "error", "connection", "stalled"}[random.IntN(22)]
	case bool:
		return !value
	case []any:
		return append(value, value...)
	}
	return value
}

func decoded(t testing.TB, line string) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
	decoder.UseNumber()
	var record map[string]any
	require.NoError(t, decoder.Decode(&record))
	return record
}
