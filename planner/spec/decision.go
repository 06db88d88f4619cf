package spec

import (
	"reflect"

	"github.com/benchbatch/benchbatch/planner/batch"
)

// LoadDecision reads a decision block from a YAML file of its own, with the fields
// of a spec's decision, and gives it as canonical JSON with defaults filled in.
// Whether it fits a batch is for who uses it to say. What is wrong with the file
// comes back all at once as Problems.
func LoadDecision(path string) ([]byte, error) {
	c := newCollector(path)
	raw, err := readSpec(path)
	if err != nil {
		c.addAt(position{}, "", fileMessage(err), "name a file with the fields of a spec's decision, such as margin: 0.05")
		return nil, c.err()
	}
	d := defaults().Decision
	node := parseYAML(c, raw)
	if node == nil {
		return nil, c.err()
	}
	(&decoder{c}).decode(node, reflect.ValueOf(&d).Elem(), "", "")
	if err := c.err(); err != nil {
		return nil, err
	}
	return batch.Canonical(d)
}
