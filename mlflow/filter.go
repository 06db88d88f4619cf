package mlflow

import "strings"

// maxConditions keeps a search below the number of joins that SQLite refuses (64).
const maxConditions = 50

// TagEquals is a search filter for runs whose tag has exactly this value. The filter language has no escape: a value with both kinds of
// quotation mark, or a key with a back-tick, cannot be searched and is refused; match such values on the client, or search a hash.
func TagEquals(key, value string) (string, error) { return equals("tags", key, value) }

// AttributeEquals is a search filter on an attribute: run_id, run_name, user_id, status or artifact_uri; see [TagEquals].
func AttributeEquals(name, value string) (string, error) {
	switch name {
	case "run_id", "run_name", "user_id", "status", "artifact_uri":
	default:
		return "", invalid("filter", "attribute %s can't be compared with text", quote(name))
	}
	v, err := quoteValue(name, value)
	return "attributes." + name + " = " + v, err
}

// And joins filters; empty ones are left out.
func And(filters ...string) string {
	var parts []string
	for _, f := range filters {
		if f != "" {
			parts = append(parts, f)
		}
	}
	return strings.Join(parts, " AND ")
}

func equals(kind, key, value string) (string, error) {
	if key == "" || strings.ContainsAny(key, "`\"'") {
		return "", invalid("filter", "%s can't be searched: the name %s is empty or holds a quotation mark or back-tick", kind, quote(key))
	}
	v, err := quoteValue(key, value)
	if err != nil {
		return "", err
	}
	return kind + ".`" + key + "` = " + v, nil
}

// quoteValue wraps a value; the server cuts one character off each end and unescapes nothing.
func quoteValue(key, value string) (string, error) {
	if strings.ContainsAny(value, "\x00\n\r") {
		return "", invalid("filter", "the value of %s can't be searched: it holds a line break or NUL", quote(key))
	}
	if !strings.Contains(value, "'") && !strings.HasSuffix(value, `\`) {
		return "'" + value + "'", nil
	}
	if !strings.Contains(value, `"`) && !strings.HasSuffix(value, `\`) {
		return `"` + value + `"`, nil
	}
	return "", invalid("filter", "the value %s of %s can't be searched: it holds both kinds of quotation mark or ends in a backslash", quote(value), quote(key))
}
