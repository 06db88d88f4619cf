package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The largest panel that is allowed: what every command pays before its work.
func BenchmarkLoadAndResolve100kTasks(b *testing.B) {
	var panel strings.Builder
	for i := range maxTasks {
		fmt.Fprintf(&panel, "{\"id\":\"T-%06d\",\"input\":\"Which of the %d lamps is on?\",\"expected\":\"%d\",\"family\":\"f%d\"}\n", i, i, i, i%100)
	}
	path := small(b, with("lamps.csv", "p.jsonl"), map[string]string{"p.jsonl": panel.String()})
	b.ReportAllocs()
	for b.Loop() {
		s, err := Load(path, nil)
		require.NoError(b, err)
		r, err := Resolve(s, nil)
		require.NoError(b, err)
		require.Len(b, r.Execution.Items, maxTasks+3)
	}
}
