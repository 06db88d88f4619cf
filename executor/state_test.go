package executor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/executor/evaluation"
	"github.com/benchbatch/benchbatch/planner/batch"
)

func openState(t *testing.T) *State {
	s, err := OpenState(filepath.Join(t.TempDir(), "state"))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestOneLauncherAtATime(t *testing.T) {
	s := openState(t)
	_, err := OpenState(s.dir)
	require.ErrorContains(t, err, "another run is at work in "+s.dir)
	require.ErrorContains(t, err, Launcher(), "the holder is named")
	require.NoError(t, s.Close())
	again, err := OpenState(s.dir)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

func TestStateThatCannotBeMadeSaysWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := OpenState(filepath.Join(file, "state"))
	require.ErrorContains(t, err, "--state")
}

func TestEntriesComeBack(t *testing.T) {
	s := openState(t)
	want := entry{UUID: "u-1", RunID: "r", Slot: 3, Cell: cellOf("m"), Labels: labels{"b", "v1", ""}, Pass: passRule{Threshold: 0.8}, At: time.Now().UTC().Truncate(time.Millisecond)}
	require.NoError(t, s.write(want))
	require.NoError(t, os.Mkdir(s.folder("u-2"), 0o700)) // its launcher died before it had written anything
	got, err := s.entries()
	require.NoError(t, err)
	want.name = "u-1"
	assert.Equal(t, []entry{want, {UUID: "u-2", name: "u-2"}}, got)

	require.NoError(t, s.forget(entry{UUID: "u-1"}))
	require.NoError(t, s.forget(entry{UUID: "u-2"}))
	got, err = s.entries()
	require.NoError(t, err)
	assert.Empty(t, got)

	require.NoError(t, s.write(want))
	require.NoError(t, os.WriteFile(filepath.Join(s.folder("u-1"), entryFile), []byte(`{"uuid":`), 0o600))
	_, err = s.entries()
	require.ErrorContains(t, err, "move this folder away")
}

func TestALauncherIsDeadOnlyForSure(t *testing.T) {
	mine := Launcher()
	assert.False(t, LauncherGone(mine), "this process")
	assert.False(t, LauncherGone(""), "unknown")
	assert.False(t, LauncherGone("elsewhere/1/1"), "another host")
	assert.False(t, LauncherGone(place()+"/x/1"))

	parts := strings.Split(mine, "/")
	require.Len(t, parts, 3)
	if parts[2] != "" { // there is /proc
		assert.True(t, LauncherGone(fmt.Sprintf("%s/%s/1", parts[0], parts[1])), "the same process id, another start")
	}
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, start := processStat(c.Process.Pid)
	name := fmt.Sprintf("%s/%d/%s", place(), c.Process.Pid, start)
	assert.False(t, LauncherGone(name))
	require.NoError(t, in.Close())
	if start != "" {
		assert.Eventually(t, func() bool { return LauncherGone(name) }, 10*time.Second, time.Millisecond, "it has ended, and nobody has waited for it")
	}
	require.NoError(t, c.Wait())
	assert.True(t, LauncherGone(fmt.Sprintf("%s/%d/5", place(), c.Process.Pid)), "a process that has ended")
}

// What others wrote can't leave its block in a note, nor hide in it.
func TestANoteHoldsForeignTextInBlocks(t *testing.T) {
	hostile := "a ``` b\n````\n<img src=x onerror=alert(1)>\n\x1b[31mred\u202e\u200b\u2028| x |"
	note := noteOf(evaluation.Measured{State: batch.StateIncomplete, Reason: hostile, LogTail: hostile + strings.Repeat("x", 5000)})
	assert.Equal(t, 4, strings.Count(note, "```"), "two blocks, opened and closed")
	for _, r := range []string{"\x1b", "\u202e", "\u200b", "\u2028"} {
		assert.NotContains(t, note, r)
	}
	inside := false
	for _, line := range strings.Split(note, "\n") {
		if line == "```" {
			inside = !inside
		} else if strings.ContainsAny(line, "<|") {
			assert.True(t, inside, line)
		}
	}
	assert.False(t, inside)
	assert.Empty(t, noteOf(evaluation.Measured{State: batch.StateComplete, LogTail: hostile}))
}

// An evaluation's folder and entry have their names on disk before anything is started.
func TestNamesAreOnDisk(t *testing.T) {
	synced := map[string]bool{}
	was := syncDir
	t.Cleanup(func() { syncDir = was })
	syncDir = func(dir string) error {
		synced[dir] = true
		return was(dir)
	}
	s := openState(t)
	require.NoError(t, s.write(entry{UUID: "u"}))
	for _, dir := range []string{filepath.Dir(s.dir), s.dir, s.Evaluations(), s.folder("u")} {
		assert.True(t, synced[dir], dir)
	}
}
