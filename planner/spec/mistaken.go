package spec

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// mistaken says whether a file that was given as a spec is a panel: by its name, or by
// a first line that holds a task or names the columns of tasks. err is that of reading it.
func mistaken(path string, raw []byte, err error) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv", ".jsonl":
		return err == nil || errors.Is(err, errTooLarge)
	}
	first, _, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(raw, bom)), []byte("\n"))
	return err == nil && ofTasks(bytes.TrimSpace(first))
}

// ofTasks says whether a line is the header or a task of a panel.
func ofTasks(line []byte) bool {
	var keys []string
	if members, err := objectMembers(line); err == nil {
		for _, m := range members {
			keys = append(keys, m.name)
		}
	} else {
		for k := range strings.SplitSeq(string(line), ",") {
			keys = append(keys, strings.Trim(k, `" `))
		}
	}
	if len(keys) < 2 || !slices.Contains(keys, "id") {
		return false
	}
	return !slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(panelKeys, k) })
}
