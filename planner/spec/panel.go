package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// Limits of a panel.
const (
	maxPanel  = 256 << 20 // bytes
	maxTasks  = 100_000
	maxFamily = 128 // characters
)

var panelKeys = []string{"id", "input", "expected", "family", "anchor"}

// readPanel reads the tasks. Problems carry the panel's own lines.
func (k *checker) readPanel() {
	if k.s.Panel == "" {
		k.missing("panel", "name a .jsonl or .csv file with the tasks")
		return
	}
	clean, info, ok := k.find("panel", k.s.Panel)
	if !ok {
		return
	}
	if info.IsDir() {
		k.c.add("panel", "a folder, not a file", "name a .jsonl or .csv file")
		return
	}
	read := map[string]func(*panelReader, []byte){".jsonl": (*panelReader).jsonl, ".csv": (*panelReader).csv}[strings.ToLower(path.Ext(clean))]
	if read == nil {
		k.c.add("panel", "neither a .jsonl nor a .csv file", "name it after what it holds")
		return
	}
	raw, err := readFile(k.root.Open, clean, maxPanel)
	if err != nil {
		k.c.add("panel", fileMessage(err), "")
		return
	}
	c := k.c.sub(path.Join(path.Dir(k.s.Path), clean), 1)
	raw = bytes.TrimPrefix(raw, bom)
	if !checkText(c, raw) || k.panelSecret(c, raw) {
		return
	}
	p := &panelReader{c: c, lines: map[string]int{}}
	read(p, raw)
	if len(p.tasks) == 0 && !p.failed {
		c.addAt(position{}, "", "the panel holds no task", "write one task a line")
	}
	if len(p.tasks) > maxTasks {
		c.addAt(position{}, "", fmt.Sprintf("%d tasks: at most %d are allowed", len(p.tasks), maxTasks), "split the panel")
	}
	slices.SortStableFunc(p.tasks, func(a, b batch.Task) int { return strings.Compare(a.ID, b.ID) })
	k.s.Tasks = p.tasks
}

// panelReader gathers tasks and what is wrong with them.
type panelReader struct {
	c      *collector
	tasks  []batch.Task
	lines  map[string]int // of each id
	failed bool           // a line could not be read
}

func (p *panelReader) problem(line, column int, field, value, message, remedy string) {
	p.failed = true
	p.c.addAt(position{line, column, value}, field, message, remedy)
}

// jsonl reads one JSON object a line.
func (p *panelReader) jsonl(raw []byte) {
	for i, line := range bytes.Split(raw, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if len(p.tasks) > maxTasks {
			return
		}
		members, err := objectMembers(line)
		if err != nil {
			p.problem(i+1, 0, "", "", "not one JSON object: "+jsonMessage(err), "write {\"id\": ..., \"input\": ...} on one line")
			continue
		}
		p.task(i+1, members)
	}
}

// member is one name and value of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// objectMembers reads a strict JSON object: no doubled names, valid UTF-8,
// nothing after it.
func objectMembers(line []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(line))
	if k := dec.PeekKind(); k != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return nil, err
		}
		return nil, errors.New("another kind of value")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var out []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, member{key, value.Clone()})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the object")
	}
	return out, nil
}

// jsonMessage shortens what the JSON reader says.
func jsonMessage(err error) string {
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && se.Err != nil {
		return fmt.Sprintf("%s after byte %d", plain(se.Err.Error()), se.ByteOffset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the line ends too early"
	}
	return plain(err.Error())
}

// task reads one task of a .jsonl panel.
func (p *panelReader) task(line int, members []member) {
	var t batch.Task
	for _, m := range members {
		if !slices.Contains(panelKeys, m.name) {
			p.problem(line, 0, join("", m.name), "", "unknown key", remedyForKey(m.name, panelKeys))
			continue
		}
		message, remedy := setMember(&t, m)
		if message != "" {
			p.problem(line, 0, m.name, short(string(m.value)), message, remedy)
		}
		if message != "" && m.name == "id" {
			return
		}
	}
	p.add(line, t)
}

// setMember sets one member of a task, or says what is wrong with it. A null is
// the same as no member, except for an id.
func setMember(t *batch.Task, m member) (message, remedy string) {
	kind := m.value.Kind()
	switch {
	case m.name == "id" && kind == '"':
		t.ID = text(m.value)
	case m.name == "id" && kind == '0':
		t.ID = string(m.value) // a number is the text that was typed
	case m.name == "id":
		return "an id is text", "write \"id\": \"T-001\""
	case kind == 'n':
	case m.name == "family" && kind == '"':
		t.Family = text(m.value)
	case m.name == "family":
		return "a family is text", "write it in quotes"
	case m.name == "anchor":
		t.Anchor = kind == 't'
		if kind != 't' && kind != 'f' {
			return "not a flag", "write true or false"
		}
	default:
		value, message, remedy := canonical(m.value)
		if m.name == "input" {
			t.Input = value
		} else {
			t.Expected = value
		}
		return message, remedy
	}
	return "", ""
}

// canonical is a value as RFC 8785 writes it: what is hashed is what a program
// gets. A value that can't be written so comes back as it is, with what is wrong.
func canonical(v jsontext.Value) (value json.RawMessage, message, remedy string) {
	if number := inexact(v); number != "" {
		return json.RawMessage(v), "the number " + short(number) + " is not kept exactly by every JSON reader", "write it in quotes"
	}
	b, err := batch.Canonical(json.RawMessage(v))
	if err != nil {
		return json.RawMessage(v), "not JSON that every reader reads alike: " + plain(err.Error()), "write it plainly"
	}
	return b, "", ""
}

// add checks a task and keeps it.
func (p *panelReader) add(line int, t batch.Task) {
	switch first := p.lines[t.ID]; {
	case t.ID == "":
		p.problem(line, 0, "id", "", "missing", "give each task an id")
	case !isID(t.ID):
		remedy := ""
		if id := proposedID(t.ID); isID(id) {
			remedy = "write " + id
		}
		p.problem(line, 0, "id", t.ID, idRule, remedy)
	case first > 0:
		p.problem(line, 0, "id", t.ID, fmt.Sprintf("the id stands twice: first on line %d", first), "give one of both another id")
	default:
		p.lines[t.ID] = line
	}
	if t.Input == nil {
		p.problem(line, 0, "input", "", "missing", "write what the agent is asked")
	}
	if n := len([]rune(t.Family)); n > maxFamily || strings.ContainsFunc(t.Family, unicode.IsControl) {
		p.problem(line, 0, "family", t.Family, fmt.Sprintf("not a name: one line of at most %d characters is", maxFamily), "")
	}
	p.tasks = append(p.tasks, t)
}

// text is the text of a JSON string.
func text(v jsontext.Value) string {
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return string(v)
	}
	return string(b)
}

// PanelFile is the panel in normal form: one task a line as canonical JSON,
// sorted by id.
func PanelFile(tasks []batch.Task) ([]byte, error) {
	sorted := slices.Clone(tasks)
	slices.SortFunc(sorted, func(a, b batch.Task) int { return strings.Compare(a.ID, b.ID) })
	var out bytes.Buffer
	for _, t := range sorted {
		line, err := batch.Canonical(t)
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.ID, err)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
