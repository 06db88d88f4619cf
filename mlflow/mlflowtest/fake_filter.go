package mlflowtest

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// condition is one comparison of a search filter.
type condition struct {
	kind, key string // "tags", "mlflow.parentRunId"
	op        string // in capitals: "=", "LIKE", "IS NULL", "IN"
	value     string
	values    []string // of IN and NOT IN
}

var (
	comparison = regexp.MustCompile("^\\s*([A-Za-z_]+\\.)?(`[^`]*`|\"[^\"]*\"|[A-Za-z0-9_./:-]+)\\s*" +
		"(IS\\s+NOT\\s+NULL|IS\\s+NULL|NOT\\s+IN|IN|ILIKE|LIKE|!=|>=|<=|=|>|<)\\s*(.*)$")
	conjunction = regexp.MustCompile(`(?i)^\s*AND\s+`)
	literal     = regexp.MustCompile(`^('[^']*'|"[^"]*"|\([^)]*\)|-?[0-9.eE+]+)\s*`)
	kinds       = map[string]string{
		"tags": "tags", "tag": "tags", "params": "params", "param": "params", "metrics": "metrics", "metric": "metrics",
		"attributes": "attributes", "attribute": "attributes", "attr": "attributes", "run": "attributes", "": "attributes",
	}
)

// parseFilter reads comparisons joined by AND. Values lose one character at each end, and nothing is unescaped.
func parseFilter(filter string) ([]condition, error) {
	var all []condition
	rest := strings.TrimSpace(filter)
	for rest != "" {
		m := comparison.FindStringSubmatch(rest)
		if m == nil {
			return nil, badValue("Invalid clause(s) in filter string: " + strconv.Quote(rest))
		}
		kind, known := kinds[strings.TrimSuffix(m[1], ".")]
		if !known {
			return nil, badValue("Invalid entity type '" + m[1] + "'")
		}
		c := condition{kind: kind, key: strings.Trim(m[2], "`\""), op: strings.Join(strings.Fields(m[3]), " ")}
		rest = m[4]
		if !strings.HasPrefix(c.op, "IS ") {
			value := literal.FindString(rest)
			if value == "" {
				return nil, badValue("Expected a quoted string value, found " + strconv.Quote(rest))
			}
			rest = rest[len(value):]
			if err := c.setValue(strings.TrimSpace(value)); err != nil {
				return nil, err
			}
		}
		all = append(all, c)
		if rest = strings.TrimSpace(rest); rest == "" {
			break
		}
		and := conjunction.FindString(rest)
		if and == "" {
			return nil, badValue("Invalid clause(s) in filter string: " + strconv.Quote(rest))
		}
		rest = rest[len(and):]
	}
	return all, nil
}

func (c *condition) setValue(text string) error {
	if strings.HasSuffix(c.op, "IN") {
		if c.kind != "attributes" {
			return badValue("Invalid comparator '" + c.op + "' for " + c.kind)
		}
		for _, item := range strings.Split(strings.Trim(text, "()"), ",") {
			c.values = append(c.values, strings.Trim(strings.TrimSpace(item), `'"`))
		}
		return nil
	}
	quoted := text[0] == '\'' || text[0] == '"'
	numeric := c.kind == "metrics" || c.key == "start_time" || c.key == "end_time"
	if quoted == numeric {
		return badValue("Expected another kind of value for " + c.key + ", found " + text)
	}
	if quoted {
		text = text[1 : len(text)-1]
	}
	c.value = text
	return nil
}

func matchAll(conditions []condition, value func(condition) (string, bool)) bool {
	for _, c := range conditions {
		if !c.match(value(c)) {
			return false
		}
	}
	return true
}

// match compares; all but IS NULL hold only for what is there.
func (c condition) match(have string, there bool) bool {
	switch c.op {
	case "IS NULL":
		return !there
	case "IS NOT NULL":
		return there
	}
	if !there {
		return false
	}
	switch c.op {
	case "=":
		return have == c.value || sameNumber(have, c.value, c.kind)
	case "!=":
		return have != c.value
	case "IN":
		return slices.Contains(c.values, have)
	case "NOT IN":
		return !slices.Contains(c.values, have)
	case "LIKE":
		return like(c.value, have)
	case "ILIKE":
		return like(strings.ToLower(c.value), strings.ToLower(have))
	}
	a, _ := strconv.ParseFloat(have, 64)
	b, _ := strconv.ParseFloat(c.value, 64)
	switch c.op {
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "<":
		return a < b
	}
	return a <= b
}

func sameNumber(a, b, kind string) bool {
	if kind != "metrics" {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

func like(pattern, s string) bool {
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, "%", "(?s:.*)"), "_", "(?s:.)")
	return regexp.MustCompile("^" + quoted + "$").MatchString(s)
}

// checkName holds the names of metrics, parameters and tags to the server's rule.
func checkName(name string) error {
	ok := name != "" && name != "." && path.Clean(name) == name && !strings.HasPrefix(name, "..") && name[0] != '/' && len([]rune(name)) <= 250
	for _, r := range name {
		ok = ok && (unicode.IsLetter(r) || unicode.IsNumber(r) || strings.ContainsRune("_-./: ", r))
	}
	if !ok {
		return badValue("Invalid value \"" + name + "\" for parameter 'key' supplied: Names may only contain alphanumerics, underscores (_), dashes (-), periods (.), spaces ( ), colon(:) and slashes (/).")
	}
	return nil
}
