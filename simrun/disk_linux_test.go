package simrun

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fullDisk fills a small disk of its own, runs simrun on it, and copies the contents before and
// after. $0 is simrun.
const fullDisk = `
mkdir disk
mount -t tmpfs -o size=1m none disk
"$0" --seed 7 --scenario calm --out disk >stdout 2>stderr
cp -r disk before
cat /dev/zero >disk/rest 2>/dev/null || true
set +e
"$0" --seed 7 --scenario calm --operations 300 --out disk >stdout 2>stderr
echo $? >code
rm disk/rest
cp -r disk after
`

// On a full disk, simrun reports an error and leaves existing files unchanged. Where no disk can be
// made, as in some containers, a folder in place of an artifact substitutes for it.
func TestFullDiskLeavesEarlierArtifactsWhole(t *testing.T) {
	dir := t.TempDir()
	script := exec.Command("sh", "-ec", fullDisk, itself(t))
	script.Dir = dir
	script.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if out, err := script.CombinedOutput(); err != nil {
		t.Logf("cannot make a small disk here: %v\n%s", err, out)
		return
	}
	require.Equal(t, "2\n", content(t, dir, "code"))
	require.Empty(t, content(t, dir, "stdout"))
	require.Regexp(t, `(^|\n)simrun: .*no space left on device.*\n+$`, content(t, dir, "stderr"))
	require.Equal(t, 1, strings.Count(content(t, dir, "stderr"), "simrun: "))
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	require.Equal(t, files(t, before), files(t, after))
	requireUnchanged(t, before, after)
}

// No run overwrites the artifacts of another one: neither one with other options, nor the same once
// more, nor a replay, nor one whose place is taken by something else.
func TestNothingThatARunHasLeftIsLost(t *testing.T) {
	folder := failing(t)
	out := filepath.Dir(folder)
	before := filepath.Join(t.TempDir(), "before")
	require.NoError(t, os.CopyFS(before, os.DirFS(out)))
	again := func(arguments ...string) string {
		_, stdout, stderr := simrun(t, arguments...)
		require.Contains(t, stdout, " in ", stderr)
		requireUnchanged(t, before, out)
		return stdout
	}
	run := []string{"--seed", "7", "--scenario", "calm", "--target", "forgetful", "--out", out}
	require.Contains(t, again(append(run, "--operations", "190")...), folder+"-", "other options, another name")
	require.Contains(t, again(run...), folder+".2\n")
	require.Contains(t, again("replay", folder), filepath.Join(folder, "replay")+"\n")
	require.Contains(t, again("replay", folder), filepath.Join(folder, "replay.2")+"\n")
	again("shrink", "--budget", "1ms", folder)
	require.Contains(t, again("shrink", "--budget", "1ms", folder), folder+"-shrunk.2\n")

	require.NoError(t, os.WriteFile(folder+".3", []byte("a file"), 0o600))
	require.NoError(t, os.Symlink("/nowhere", folder+".4"))
	require.Contains(t, again(run...), folder+".5\n")
	require.Equal(t, "a file", content(t, out, filepath.Base(folder)+".3"))
}

// requireUnchanged checks that all files of a folder are in another one.
func requireUnchanged(t *testing.T, before, after string) {
	t.Helper()
	for _, path := range files(t, before) {
		require.Equal(t, content(t, before, path), content(t, after, path), path)
	}
}

func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	}))
	require.NotEmpty(t, paths)
	return paths
}

// content reads the file whose path is these elements.
func content(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(content)
}
