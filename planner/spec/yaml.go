package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits on one YAML file. A spec of normal size is a thousandth of them.
const (
	maxFile  = 1 << 20 // bytes
	maxDepth = 32      // levels of nesting
	maxNodes = 200_000 // values, aliases expanded
	maxList  = 2000    // entries of one list
)

var bom = []byte("\xef\xbb\xbf")

// parseYAML reads a file of exactly one YAML document and returns its root. It
// returns nil after it noted why there is none.
func parseYAML(c *collector, raw []byte) *yaml.Node {
	raw = bytes.TrimPrefix(raw, bom)
	if !checkText(c, raw) {
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(raw))
	if err != nil {
		c.addAt(position{}, "", err.Error(), "")
		return nil
	}
	var docs []*yaml.Node
	for {
		var doc yaml.Node
		err := loader.Load(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			c.addAt(yamlPosition(err), "", "not valid YAML: "+yamlMessage(err), yamlRemedy(err))
			return nil
		}
		docs = append(docs, &doc)
	}
	if len(docs) > 1 {
		second := docs[1]
		c.addAt(position{line: second.Line, column: second.Column}, "", fmt.Sprintf("one document expected, found %d", len(docs)),
			"keep one spec a file: remove the line --- or ... and what follows")
		return nil
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 || isNull(docs[0].Content[0]) {
		c.addAt(position{}, "", "the file is empty", "`benchbatch init DIR` writes one to start from")
		return nil
	}
	root := docs[0].Content[0]
	if !checkSize(c, root) {
		return nil
	}
	return root
}

// checkText refuses what is not UTF-8 text.
func checkText(c *collector, raw []byte) bool {
	if bytes.HasPrefix(raw, []byte{0xff, 0xfe}) || bytes.HasPrefix(raw, []byte{0xfe, 0xff}) {
		c.addAt(position{line: 1}, "", "the file is UTF-16", "save it as UTF-8")
		return false
	}
	line := 1
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			c.addAt(position{line: line}, "", fmt.Sprintf("not valid UTF-8: byte 0x%02x", raw[i]), "save the file as UTF-8")
			return false
		case r == '\n':
			line++
		case r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			c.addAt(position{line: line}, "", fmt.Sprintf("control character %q", r), "remove it")
			return false
		}
		i += n
	}
	return true
}

// checkSize bounds depth and expanded size before anything walks the tree, and
// refuses an alias to something around it.
func checkSize(c *collector, root *yaml.Node) bool {
	m := measure{sizes: map[*yaml.Node]int{}, open: map[*yaml.Node]bool{}}
	if _, err := m.size(root, 0); err != nil {
		c.addAt(position{line: m.at.Line, column: m.at.Column}, "", err.Error(), m.remedy)
		return false
	}
	return true
}

// measure counts the nodes of a tree as if its aliases were written out,
// visiting each node once.
type measure struct {
	sizes  map[*yaml.Node]int
	open   map[*yaml.Node]bool
	at     *yaml.Node
	remedy string
}

func (m *measure) fail(n *yaml.Node, remedy, format string, args ...any) (int, error) {
	m.at, m.remedy = n, remedy
	return 0, fmt.Errorf(format, args...)
}

func (m *measure) size(n *yaml.Node, depth int) (int, error) {
	if depth > maxDepth {
		return m.fail(n, "no part of a spec needs that", "nested more than %d levels deep", maxDepth)
	}
	if n.Kind == yaml.AliasNode {
		if m.open[n.Alias] {
			return m.fail(n, "write it out", "alias *%s stands inside what it names", plain(n.Value))
		}
		if size, ok := m.sizes[n.Alias]; ok {
			return size, nil
		}
		return m.size(n.Alias, depth)
	}
	m.open[n] = true
	defer delete(m.open, n)
	total := 1
	for _, child := range n.Content {
		size, err := m.size(child, depth+1)
		if err != nil {
			return 0, err
		}
		if total += size; total > maxNodes {
			return m.fail(n, "write out what is meant", "more than %d values once its aliases are written out", maxNodes)
		}
	}
	m.sizes[n] = total
	return total, nil
}

var positionText = regexp.MustCompile(`line (\d+)(?:, column (\d+))?`)

func yamlPosition(err error) position {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		return position{}
	}
	m := positionText.FindStringSubmatch(fmt.Sprint(le.Mark))
	if m == nil {
		return position{}
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	return position{line: line, column: column}
}

func yamlMessage(err error) string {
	var le *yaml.LoadError
	if errors.As(err, &le) {
		return plain(le.Message)
	}
	return plain(err.Error())
}

func yamlRemedy(err error) string {
	msg := yamlMessage(err)
	switch {
	case strings.Contains(msg, "cannot start any token"):
		return "indent with spaces, not tabs, and quote text that begins with @ or `"
	case strings.Contains(msg, "mapping values are not allowed"):
		return "quote text that holds a colon followed by a space"
	}
	return ""
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
