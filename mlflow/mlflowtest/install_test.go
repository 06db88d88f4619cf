package mlflowtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const scripts = "../../scripts"

// TestLocks: every package pinned, every file by hash, and nothing said about where from.
func TestLocks(t *testing.T) {
	locks, err := filepath.Glob(scripts + "/mlflow/*.lock")
	require.NoError(t, err)
	require.Len(t, locks, 2)
	locks = append(locks, scripts+"/postgres/requirements.lock")
	pinned := regexp.MustCompile(`^[a-z0-9._-]+==[^ ]+( ; [^\\]+)? \\$`)
	hash := regexp.MustCompile(`^    --hash=sha256:[0-9a-f]{64}( \\)?$`)
	for _, version := range []Version{Newest, Oldest} {
		data, err := os.ReadFile(filepath.Join(scripts, "mlflow", string(version)+".lock"))
		require.NoError(t, err)
		assert.Contains(t, string(data), "\nmlflow=="+string(version)+" \\\n")
	}
	for _, lock := range locks {
		data, err := os.ReadFile(lock)
		require.NoError(t, err)
		text := string(data)
		assert.NotContains(t, text, "://")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, " "):
				assert.Regexp(t, hash, line)
			default:
				assert.Regexp(t, pinned, line)
				require.Less(t, i+1, len(lines))
				assert.Regexp(t, hash, lines[i+1])
			}
		}
	}
}

func TestInstallLeavesWhatIsInstalled(t *testing.T) {
	executable := Executable(t, Newest)
	before, err := os.Stat(executable)
	require.NoError(t, err)
	out, err := exec.Command(scripts+"/install-mlflow.sh", string(Newest)).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, out)
	after, err := os.Stat(executable)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
}

func TestInstallPostgresLeavesWhatIsInstalled(t *testing.T) {
	require.FileExists(t, "../../.postgres/installed", "run make postgres")
	out, err := exec.Command(scripts+"/install-postgres.sh", string(Newest)).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, out)
}

func TestInstallOfAnUnknownVersion(t *testing.T) {
	out, err := exec.Command(scripts+"/install-mlflow.sh", "0.0.1").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Contains(t, string(out), "2.22.5 3.17.2")
}
