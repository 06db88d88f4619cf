package spec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "10m": 10 * time.Minute, "1h30m": 90 * time.Minute, "30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "0s": 0, "1.5h": 90 * time.Minute,
	} {
		got, err := parseDuration(s)
		assert.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "5", "d", "-1h", "1d-5h", "30 d", "1w", "99999d", "1h1d", "9999999h"} {
		_, err := parseDuration(s)
		assert.Error(t, err, s)
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{"4GiB": 4 << 30, "512MiB": 512 << 20, "1.5GB": 1_500_000_000, "100": 100, "2Gi": 2 << 30, "8kB": 8000} {
		got, err := parseSize(s)
		assert.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "4 GiB", "-1GiB", "4gib", "1e3", "9999999TiB", "GiB"} {
		_, err := parseSize(s)
		assert.Error(t, err, s)
	}
}

func TestParseShare(t *testing.T) {
	for s, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "20%": 0.2, "2.5%": 0.025, "0": 0, "7%": 0.07, "29%": 0.29} {
		got, err := parseShare(s)
		assert.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "%", "5 %", "five", "5%%", "1_0", ".nan", "0x10"} {
		_, err := parseShare(s)
		assert.Error(t, err, s)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"repeats", "recipe", "reuse", "task_timeout", "max_missing"}
	for word, want := range map[string]string{
		"repeat": "repeats", "Repeats": "repeats", "taskTimeout": "task_timeout", "max-missing": "max_missing", "recpie": "recipe", "zzz": "", "": "",
	} {
		assert.Equal(t, want, nearest(word, known), word)
	}
	assert.Equal(t, 1, distance("ab", "ba"), "a swap is one step")
	assert.Equal(t, 3, distance("", "abc"))
}
