package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/simtest"
)

// asOutside is the environment variable that makes the tests of this file do their work, in a
// process of their own, like users' tests under `go test`.
const asOutside = "WATCHSIM_TEST_OUTSIDE"

// outside runs a test of this binary as users run theirs, in an empty folder unless one is given,
// and returns its output.
func outside(t *testing.T, dir, test string, arguments ...string) (output string, failed bool) {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	program, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(program, append([]string{"-test.v", "-test.run=" + isolate.Exactly(test)}, arguments...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), asOutside+"=1")
	if test == "TestCounter" {
		command.Env = append(command.Env, lose+"=1")
	}
	out, err := command.CombinedOutput()
	return string(out), err != nil
}

// only returns the path and the content of the one file that matches a pattern.
func only(t *testing.T, pattern ...string) (path string, content []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	require.NoError(t, err)
	require.Len(t, found, 1)
	content, err = os.ReadFile(found[0])
	require.NoError(t, err)
	return found[0], content
}

// fails returns the output of a test that must fail when outside runs it.
func fails(t *testing.T, dir, test string, arguments ...string) string {
	t.Helper()
	output, failed := outside(t, dir, test, arguments...)
	require.True(t, failed, output)
	return output
}

// passes is like fails for a test that must pass.
func passes(t *testing.T, dir, test string, arguments ...string) string {
	t.Helper()
	output, failed := outside(t, dir, test, arguments...)
	require.False(t, failed, output)
	return output
}

var hashes = regexp.MustCompile(`hash [0-9a-f]{16}`)

// A lost update is found and kept, and reproduces in the same run.
func TestAFailureIsKeptAndRunsAgain(t *testing.T) {
	dir := t.TempDir()
	first := fails(t, dir, "TestCounter", "-simtest.seeds=50")
	require.Contains(t, first, "still wrong 2m0s after everything had healed: expected a and b at 5, found")
	require.Contains(t, first, "PUT /api/v1/namespaces/default/configmaps/counter on ")
	seed := regexp.MustCompile(`-simtest\.seed=(\d+)`).FindString(first)
	require.NotEmpty(t, seed, first)
	hash := hashes.FindString(first)
	require.NotEmpty(t, hash, first)

	path, kept := only(t, dir, "testdata", "simtest", "TestCounter", "seed-*")
	again := fails(t, dir, "TestCounter", "-simtest.seeds=1")
	require.Contains(t, again, "It was kept before, with")

	require.NoError(t, os.WriteFile(path, append([]byte("# A comment\n# and another one\n"), kept...), 0o644))
	commented := fails(t, dir, "TestCounter", "-simtest.seeds=1")
	require.Equal(t, hashes.FindString(again), hashes.FindString(commented), "comments make no other run of it")

	for range 2 {
		alone := fails(t, "", "TestCounter", seed, "-simtest.shrink=0")
		require.Equal(t, hash, hashes.FindString(alone), "the same seed is the same run in any process")
	}
}

// TestSaysItsName fails with the name of its binary.
func TestSaysItsName(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) { t.Fatalf("the binary is %s", os.Args[0]) })
}

// The same seed is the same run whatever the binary's name, which clients send.
func TestTheNameOfTheBinaryDoesNotMatter(t *testing.T) {
	for _, arguments := range [][]string{nil, {"-simtest.no-fork"}} {
		out := fails(t, "", "TestSaysItsName", append(arguments, "-simtest.seed=1", "-simtest.shrink=0")...)
		require.Contains(t, out, "the binary is watch.sim\n")
	}
}

func TestWrongUseIsOneSentence(t *testing.T) {
	for arguments, want := range map[string]string{
		"-simtest.seeds=0":      `expected -simtest.seeds to be a number above 0 or a range such as 1000-2000, found "0"`,
		"-simtest.seeds=9-3":    `found "9-3"`,
		"-simtest.verify=0":     `expected -simtest.verify to be at least 1, found 0`,
		"-simtest.faults=never": `expected -simtest.faults to name some of compaction, `,
	} {
		out := fails(t, "", "TestCounter", arguments)
		require.Contains(t, out, want)
	}
}

// inside runs one of the tests below as users would; otherwise it skips it.
func inside(t *testing.T, config simtest.Config, body func(*simtest.T, *simtest.Cluster)) {
	onlyOutside(t)
	simtest.Seeds(t, config, body)
}

// onlyOutside skips a test unless another one has started it.
func onlyOutside(t *testing.T) {
	if os.Getenv(asOutside) == "" {
		t.Skip("it fails on purpose: another test runs it")
	}
}

func TestGeneratesNames(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		made, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "generated-"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		t.Fatal(made.Name)
	})
}

// The random part of a generated name follows from the seed, not from the start time of the process.
func TestGeneratedNamesAreThoseOfTheSeed(t *testing.T) {
	first, _ := outside(t, "", "TestGeneratesNames", "-simtest.seed=1")
	second, _ := outside(t, "", "TestGeneratesNames", "-simtest.seed=1")
	name := regexp.MustCompile(`generated-\w+`)
	require.NotEmpty(t, name.FindString(first), first)
	require.Equal(t, name.FindString(first), name.FindString(second))
	require.NotEmpty(t, hashes.FindString(first), first)
	require.Equal(t, hashes.FindString(first), hashes.FindString(second))
}

// TestReadsTheProcess depends on more than the seed.
func TestReadsTheProcess(t *testing.T) {
	inside(t, simtest.Config{}, func(_ *simtest.T, c *simtest.Cluster) {
		time.Sleep(time.Duration(os.Getppid()) * time.Millisecond)
	})
}

// TestFailsByTheProcess does, too, and fails with faults that could be dropped.
func TestFailsByTheProcess(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		c.Go("idle", func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil })
		c.Faults(5 * time.Second)
		time.Sleep(10*time.Second + time.Duration(os.Getppid())*time.Millisecond)
		t.Fatal("as it should")
	})
}

func TestRunsThatDifferAreNoticed(t *testing.T) {
	out := fails(t, "", "TestReadsTheProcess", "-simtest.seeds=1", "-simtest.verify=2")
	require.Contains(t, out, "expected the same run of seed 1 in each process, found the hashes ")
	out = fails(t, "", "TestFailsByTheProcess", "-simtest.seed=2")
	require.Contains(t, out, "as it should")
	require.Contains(t, out, "expected the same run of seed 2 in each process, found the hashes ")
	out = passes(t, "", "TestConnectionsAreBalanced", "-simtest.seeds=3", "-simtest.verify=2")
	require.Contains(t, out, "3 seeds passed in ")
	require.Contains(t, out, ", each the same run in 2 processes")
}

// Members that lose their leader end watches in map order.
func TestThreeMembersRunAlikeEverywhere(t *testing.T) {
	passes(t, ".", "TestCustomResources", "-simtest.seeds=3-4", "-simtest.verify=2")
}

// TestTwoWrite has an invariant on the recording: only one client creates ConfigMaps.
func TestTwoWrite(t *testing.T) {
	check := func(seen simtest.Seen) error {
		by := map[string]bool{}
		for _, op := range seen.Histories["configmaps"].Operations {
			if op.Kind == model.Create && op.Err == model.OK {
				by[op.Client] = true
			}
		}
		if len(by) > 1 {
			return fmt.Errorf("expected one client that creates, found %d", len(by))
		}
		return nil
	}
	inside(t, simtest.Config{Check: check}, func(t *simtest.T, c *simtest.Cluster) {
		create := func(ctx context.Context, config *rest.Config, name string) error {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{})
			return err
		}
		require.NoError(t, create(t.Context(), c.Config(), "a"))
		c.Go("other", func(ctx context.Context, config *rest.Config) error { return create(ctx, config, "b") })
		time.Sleep(10 * time.Second)
	})
}

func TestNeverReached(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) {
		t.Sometimes("the impossible", false)
		t.Sometimes("the certain", true)
		t.Always("one is one", true)
	})
}

// A program that returns is restarted after 10 s, and one that crashes at once.
func TestProgramsStartAgain(t *testing.T) {
	simtest.Seeds(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		var lives []time.Duration
		c.Go("brief", func(context.Context, *rest.Config) error { lives = append(lives, c.Now()); return nil })
		time.Sleep(25 * time.Second)
		require.GreaterOrEqual(t, len(lives), 2)
		require.GreaterOrEqual(t, lives[1]-lives[0], 10*time.Second)
		crashes := 0
		c.Go("lasting", func(ctx context.Context, _ *rest.Config) error { crashes++; <-ctx.Done(); return nil })
		time.Sleep(time.Second)
		c.Crash("lasting")
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, crashes)
	})
}

// A program that is told to stop may finish what it does. If it goes on after the grace period, it is killed. It is not restarted before somebody
// starts it.
func TestProgramsStop(t *testing.T) {
	check := func(seen simtest.Seen) error {
		var endings []simtest.Ending
		for _, e := range seen.Endings {
			e.Told, e.At = e.Told.Round(time.Second), e.At.Round(time.Second)
			endings = append(endings, e)
		}
		want := []simtest.Ending{
			{Program: "obedient", How: "has returned stopped", Told: time.Second, At: 6 * time.Second},
			{Program: "stubborn", How: "has not ended within 30s, and is killed", Told: time.Second, At: 31 * time.Second, Killed: true},
		}
		if !slices.Equal(endings, want) {
			return fmt.Errorf("expected the endings %+v, found %+v", want, endings)
		}
		return nil
	}
	simtest.Seeds(t, simtest.Config{Check: check}, func(t *simtest.T, c *simtest.Cluster) {
		lives, cleanings, ticks := map[string]int{}, 0, 0
		c.Go("obedient", func(ctx context.Context, _ *rest.Config) error {
			lives["obedient"]++
			context.AfterFunc(ctx, func() {
				for ; ; time.Sleep(time.Second) { // belongs to the process, and ends with it
					cleanings++
				}
			})
			<-ctx.Done()
			time.Sleep(5 * time.Second)
			return errors.New("stopped")
		})
		c.Go("stubborn", func(context.Context, *rest.Config) error {
			lives["stubborn"]++
			for life := lives["stubborn"]; ; time.Sleep(time.Second) {
				ticks += 2 - life // counts in the first life only
			}
		})
		time.Sleep(time.Second)
		for _, name := range []string{"obedient", "stubborn"} {
			require.NoError(t, c.StopProgram(name))
		}
		time.Sleep(time.Minute)
		require.Positive(t, cleanings)
		require.Less(t, cleanings, 20)
		require.Equal(t, map[string]int{"obedient": 1, "stubborn": 1}, lives)
		require.ErrorContains(t, c.StopProgram("obedient"), "it is down")
		require.ErrorContains(t, c.StopProgram("stubborn"), "it is down")
		require.Greater(t, ticks, 25)
		ticks = 0
		for _, name := range []string{"obedient", "stubborn"} {
			require.NoError(t, c.StartProgram(name))
		}
		time.Sleep(10 * time.Second)
		require.Equal(t, map[string]int{"obedient": 2, "stubborn": 2}, lives)
		require.LessOrEqual(t, ticks, 1)
	})
}

// A program that was told to stop returns, and is started while its crash waits for a lock: it has one life afterwards.
func TestAProgramIsStartedWhileItEnds(t *testing.T) {
	simtest.Seeds(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		var shared sync.Mutex // which a crash must not leave with a goroutine in its queue
		lives := 0
		c.Go("program", func(ctx context.Context, _ *rest.Config) error {
			lives++
			<-ctx.Done()
			go func() {
				shared.Lock()
				defer shared.Unlock()
			}()
			time.Sleep(15 * time.Millisecond)
			return errors.New("stopped")
		})
		for range 10 {
			time.Sleep(time.Second)
			shared.Lock()
			time.AfterFunc(20*time.Millisecond, shared.Unlock)
			require.NoError(t, c.StopProgram("program"))
			time.Sleep(10 * time.Millisecond)
			require.NoError(t, c.StartProgram("program"))
		}
		time.Sleep(time.Second)
		c.Crash("program")
		time.Sleep(time.Second)
		require.Equal(t, 12, lives)
	})
}

// Each connection of a program goes to the next API server, as with a load balancer, and different
// programs begin at different servers.
func TestConnectionsAreBalanced(t *testing.T) {
	simtest.Seeds(t, simtest.Config{Servers: 3}, func(t *simtest.T, c *simtest.Cluster) {
		reached := map[string][]string{}
		for _, name := range []string{"a", "b"} {
			c.Go(name, func(ctx context.Context, config *rest.Config) error {
				for range 4 {
					connection, err := config.Dial(ctx, "tcp", "anywhere:6443")
					if err != nil {
						return err
					}
					reached[name] = append(reached[name], connection.RemoteAddr().String())
				}
				<-ctx.Done()
				return nil
			})
		}
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"apiserver-0:6443", "apiserver-1:6443", "apiserver-2:6443", "apiserver-0:6443"}, reached["a"])
		require.Equal(t, "apiserver-1:6443", reached["b"][0])
	})
}

func TestBroken(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) { t.Always("two is three", false) })
}

func TestConditionsAreCounted(t *testing.T) {
	out := passes(t, "", "TestNeverReached", "-simtest.seeds=3")
	require.Contains(t, out, "never: the impossible")
	require.Contains(t, out, "the certain: in 3 runs")
	for limit, argument := range map[string]string{"-simtest.time": "-simtest.time=1ms", "-timeout": "-test.timeout=3s"} {
		out := passes(t, "", "TestNeverReached", "-simtest.seeds=1000000", argument)
		require.Regexp(t, `; \d+ seeds from \d+ on did not begin within `+limit, out)
	}
}

// Programs can read the results, too.
func TestReportForPrograms(t *testing.T) {
	read := func(dir string) (o struct {
		Test    string
		Passed  int
		Hashes  map[int]string
		Reached map[string]int
		Failure *struct {
			Seed   int
			Hash   string
			Log    []string
			Faults int
			Plan   string
		}
	}) {
		text, err := os.ReadFile(filepath.Join(dir, "report.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &o))
		return o
	}
	dir := t.TempDir()
	passes(t, dir, "TestNeverReached", "-simtest.seeds=3", "-simtest.report=report.json")
	passed := read(dir)
	require.Equal(t, "TestNeverReached", passed.Test)
	require.Equal(t, 3, passed.Passed)
	require.Len(t, passed.Hashes, 3)
	require.Contains(t, passes(t, dir, "TestNeverReached", "-simtest.seed=2"), "hash "+passed.Hashes[2])
	require.Equal(t, 3, passed.Reached["the certain"])
	require.Nil(t, passed.Failure)
	out := fails(t, dir, "TestTwoWrite", "-simtest.seeds=5-9", "-simtest.report=report.json", "-simtest.shrink=0")
	broken := read(dir).Failure
	require.Equal(t, 5, broken.Seed)
	require.Contains(t, out, "hash "+broken.Hash)
	require.Contains(t, broken.Log[len(broken.Log)-1], "Config.Check: expected one client that creates, found 2")
	out = fails(t, dir, "TestNeverReached", "-simtest.seeds=1", "-simtest.report=nowhere/report.json")
	require.Contains(t, out, "-simtest.report: open nowhere/report.json: no such file or directory")
}

// A run in place equals that in a copy, whether it fails or not.
func TestARunInPlaceIsTheSame(t *testing.T) {
	for _, test := range []string{"TestConnectionsAreBalanced", "TestCounter", "TestBroken", "TestDraws"} {
		for _, seed := range []string{"-simtest.seed=1", "-simtest.seed=2"} {
			copied, failed := outside(t, "", test, seed, "-simtest.shrink=0")
			inPlace, failedToo := outside(t, "", test, seed, "-simtest.no-fork")
			require.Equal(t, failed, failedToo, inPlace)
			require.NotEmpty(t, hashes.FindString(copied), copied)
			require.Equal(t, hashes.FindString(copied), hashes.FindString(inPlace), inPlace)
		}
	}
	out := fails(t, "", "TestCounter", "-simtest.no-fork")
	require.Contains(t, out, "expected -simtest.no-fork with one seed, found no -simtest.seed")
}
