package shrink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
)

const wholePlan = `# watchsim plan v1
at 4s compaction revision=current
at 6s etcd-crash member=etcd-0 down=3s
at 9s partition from=apiserver-0 to=etcd-0 for=2s
at 20s etcd-restart member=etcd-0
`

// whole returns a failing run and its details.
func whole() (Case, swarm.Details) {
	spec, _ := scenario.Named("storm")
	spec.Seed = 7
	details := swarm.Details{Plan: wholePlan, Schedule: sim.DefaultSchedule, Tape: []byte{1, 2, 3}}
	for _, client := range []string{"writer-0", "writer-1", "reader-0", "watcher-1", "closer"} {
		part := workload.Part{Client: client}
		for i := range 20 {
			part.Steps = append(part.Steps, workload.Step{Number: i + 1, At: time.Duration(i+1) * time.Second, Draws: 3 * i})
		}
		details.Parts = append(details.Parts, part)
	}
	return Case{Spec: spec}, details
}

// each runs candidates one by one.
func each(try func(Case) (Outcome, error)) Try {
	return func(_ context.Context, candidates []Case, _ bool) (outcomes []Outcome, err error) {
		for _, c := range candidates {
			outcome, failed := try(c)
			outcomes, err = append(outcomes, outcome), errors.Join(err, failed)
		}
		return outcomes, err
	}
}

// fake runs candidates; broken says which of them fail.
func fake(details swarm.Details, broken func(Case) bool) Try { return each(single(details, broken)) }

func single(details swarm.Details, broken func(Case) bool) func(Case) (Outcome, error) {
	return func(c Case) (Outcome, error) {
		if c.Spec.Reduced == nil {
			return Outcome{Broken: true, Operations: 100, Details: &details}, nil
		}
		own := details
		own.Tape = c.Tape
		return Outcome{Broken: broken(c), Operations: 1, Details: &own}, nil
	}
}

// shrunk returns what is left of a run when nothing else can be left out.
func shrunk(t *testing.T, workers int, run Case, try Try) Result {
	t.Helper()
	result, err := Shrink(t.Context(), Config{Workers: workers, Try: try}, run, "NoLostEvents")
	require.NoError(t, err)
	require.True(t, result.Complete)
	return result
}

func takes(c Case, client string, number int) bool {
	return slices.ContainsFunc(c.steps(), func(t taken) bool { return t.client == client && t.step.Number == number })
}

func TestWhatIsNeededIsLeft(t *testing.T) {
	run, details := whole()
	for _, workers := range []int{1, 4} {
		result := shrunk(t, workers, run, fake(details, func(c Case) bool {
			plan := c.plan()
			crash := slices.IndexFunc(plan, func(f faults.Fault) bool { return f.Kind == "etcd-crash" })
			return takes(c, "writer-1", 7) && takes(c, "watcher-1", 3) &&
				crash >= 0 && plan[crash].Lasts >= 300*time.Millisecond && c.Spec.Servers == 2
		}))
		small := result.Case.Spec
		require.Equal(t, "# watchsim plan v1\nat 6s etcd-crash member=etcd-0 down=400ms\n", small.Plan)
		require.Equal(t, []workload.Part{
			{Client: "writer-1", Steps: []workload.Step{{Number: 7, At: 7 * time.Second, Draws: 18}}},
			{Client: "watcher-1", Steps: []workload.Step{{Number: 3, At: 3 * time.Second, Draws: 6}}},
		}, small.Reduced.Parts)
		require.Equal(t, "NoLostEvents", small.Reduced.Guarantee)
		require.Equal(t, 1, small.Members)
		require.Equal(t, 2, small.Servers)
		require.True(t, result.Case.takesTurns())
		require.Equal(t, 7*time.Second+margin, small.Duration-small.Quiet, "it ends soon after the last step")
		require.NoError(t, small.Validate())
		require.Less(t, result.Tried, 150)
		require.Nil(t, result.Whole.Spec.Reduced, "the whole run is not changed")
		require.Len(t, details.Parts, 5)
	}
}

// Only those drawn knobs remain unusual that the failure needs.
func TestKnobsThatTheFailureDoesNotNeedAreReset(t *testing.T) {
	run, details := whole()
	spec, err := scenario.Named("any")
	require.NoError(t, err)
	for _, knob := range []string{"members=3", "servers=2", "mix=churn", "object-bytes=2048", "gates=WatchListClient=false", "neighbour=7s", "remember=3"} {
		name, value, _ := strings.Cut(knob, "=")
		require.NoError(t, spec.Set(name, value))
	}
	spec.Seed, run.Spec = 7, spec
	small := shrunk(t, 2, run, fake(details, func(c Case) bool {
		return c.Spec.Setup.Mix == "churn" && c.Spec.Setup.ObjectBytes > 0 && c.Spec.Cold && takes(c, "writer-1", 7)
	})).Case.Spec
	require.Equal(t, []string{"cold=true", "mix=churn", "object-bytes=2048"}, Knobs(small))
	require.NotEmpty(t, run.Spec.Setup.Server.Gates, "the whole run is not changed")
}

// What the violation does not mention is left out first, at once.
func TestWhatTheViolationDoesNotTellOfGoesAtOnce(t *testing.T) {
	run, details := whole()
	led := []explain.Moment{
		{Lane: explain.Client, Process: "watcher-1", Time: int64(3500 * time.Millisecond)},
		{Lane: explain.Etcd, Process: "etcd", Time: int64(7100 * time.Millisecond)},
	}
	try := func(led []explain.Moment) Try {
		sound := single(details, func(c Case) bool { return takes(c, "writer-1", 7) && takes(c, "watcher-1", 3) })
		return each(func(c Case) (Outcome, error) {
			outcome, err := sound(c)
			outcome.Led = led
			return outcome, err
		})
	}
	told, untold := shrunk(t, 1, run, try(led)), shrunk(t, 1, run, try(nil))
	require.Equal(t, untold.Case.Spec.Reduced.Parts, told.Case.Spec.Reduced.Parts)
	require.Less(t, told.Tried, untold.Tried*2/3)
}

func TestChoicesOfTheScheduleAreLeftOut(t *testing.T) {
	run, details := whole()
	details.Tape = make([]byte, 500)
	for i := range details.Tape {
		details.Tape[i] = byte(1 + i%7)
	}
	result := shrunk(t, 2, run, fake(details, func(c Case) bool {
		return len(c.Tape) > 300 && len(c.Tape) <= 500 && c.Tape[40] == 6 && c.Tape[300] == 7
	}))
	want := make([]byte, 301)
	want[40], want[300] = 6, 7
	require.Equal(t, want, result.Case.Tape)
}

// TestCandidatesAreTriedWithSeveralSchedules has a failure that needs one schedule of three,
// another one for each number of steps, and interruptions.
func TestCandidatesAreTriedWithSeveralSchedules(t *testing.T) {
	run, details := whole()
	fits := func(c Case) bool {
		if len(c.Tape) > 0 {
			return c.Tape[0] == 1
		}
		return c.Spec.ScheduleSeed > 0 && (c.Spec.ScheduleSeed+uint64(len(c.steps())))%3 == 1 && *c.Spec.Schedule != sim.Schedule{}
	}
	try := single(details, func(c Case) bool { return fits(c) && takes(c, "writer-1", 7) })
	result := shrunk(t, 1, run, each(func(c Case) (Outcome, error) {
		outcome, err := try(c)
		if c.Spec.ScheduleSeed > 0 {
			outcome.Details.Tape = []byte{byte((c.Spec.ScheduleSeed + uint64(len(c.steps()))) % 3), 0, 5}
		}
		return outcome, err
	}))
	require.Equal(t, []workload.Part{
		{Client: "writer-1", Steps: []workload.Step{{Number: 7, At: 7 * time.Second, Draws: 18}}},
	}, result.Case.Spec.Reduced.Parts)
	require.Empty(t, result.Case.plan())
	require.Equal(t, []byte{1}, result.Case.Tape, "of the schedule, the choice that matters")
	require.Zero(t, result.Case.Spec.ScheduleSeed)
}

func TestTheBestSoFarIsKept(t *testing.T) {
	run, details := whole()
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	holds := func(c Case) bool { return takes(c, "writer-0", 1) && strings.Contains(c.Spec.Plan, "compaction") }
	result, err := Shrink(ctx, Config{Workers: 1, Try: fake(details, func(c Case) bool {
		if tried++; tried == 12 {
			cancel()
		}
		return holds(c)
	})}, run, "NoLostEvents")
	require.NoError(t, err)
	require.False(t, result.Complete)
	require.True(t, holds(result.Case))
	require.Less(t, len(result.Case.Spec.Reduced.Parts), 5, "something was left out by then")
}

func TestARunThatPassesIsRefused(t *testing.T) {
	run, _ := whole()
	_, err := Shrink(t.Context(), Config{Workers: 1, Try: each(func(Case) (Outcome, error) { return Outcome{}, nil })}, run, "NoLostEvents")
	require.ErrorIs(t, err, ErrNotBroken)
}

func TestAFailureOfTheMachineEndsTheSearch(t *testing.T) {
	run, details := whole()
	full := errors.New("no space left on device")
	tried := 0
	for _, row := range []struct{ says, want error }{{full, full}, {swarm.ErrDied, nil}} {
		sound := single(details, func(c Case) bool { return takes(c, "writer-0", 1) })
		_, err := Shrink(t.Context(), Config{Workers: 1, Try: each(func(c Case) (Outcome, error) {
			if tried++; tried%5 == 0 {
				return Outcome{}, row.says
			}
			return sound(c)
		})}, run, "NoLostEvents")
		require.ErrorIs(t, err, row.want)
	}
}

func TestProgressSaysWhatIsLeft(t *testing.T) {
	run, details := whole()
	var lines []string
	_, err := Shrink(t.Context(), Config{
		Workers:  2,
		Try:      fake(details, func(c Case) bool { return takes(c, "writer-0", 1) }),
		Progress: func(status Status) { lines = append(lines, status.String()) },
	}, run, "NoLostEvents")
	require.NoError(t, err)
	require.Contains(t, lines[len(lines)-1], "1 operations, 1 clients with 1 steps, 0 faults, goroutines take turns")
}
