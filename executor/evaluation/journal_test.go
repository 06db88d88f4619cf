package evaluation

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type noLauncher struct{ t *testing.T }

func (l noLauncher) Launch(context.Context, Work) (Ended, error) {
	l.t.Error("started although it can't be recorded")
	return Ended{}, nil
}

func TestNothingIsStartedThatCannotBeRecorded(t *testing.T) {
	dir := t.TempDir()
	j, err := newJournal(dir, 1)
	require.NoError(t, err)
	require.NoError(t, j.add(record{Launch: "runner"}))
	require.NoError(t, j.f.Close())
	m := &measurement{req: &Request{Launcher: noLauncher{t}}, journal: j, red: &Redactor{}}
	_, failed := m.launch(context.Background(), stage{Stage: "runner"}, &program{}, 0)
	assert.Contains(t, failed, "can't be recorded")
	assert.Equal(t, failed, m.final, "and nothing else is")
	assert.False(t, m.launched)

	j.f, err = os.OpenFile(filepath.Join(dir, FileJournal), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer j.close()
	require.Error(t, j.add(record{Launch: "runner"}), "no line stands behind one that may be half")
	text, err := os.ReadFile(filepath.Join(dir, FileJournal))
	require.NoError(t, err)
	assert.Equal(t, "{\"launch\":\"runner\"}\n", string(text))
}
