package ledger

import (
	"errors"
	"strings"

	"github.com/benchbatch/benchbatch/mlflow"
)

// condition compares a tag with a value; not turns it into "has the tag with another value".
type condition struct {
	key, value string
	not        bool
}

// where joins conditions to a search filter.
func where(conditions ...condition) (string, error) {
	var parts []string
	var all error
	for _, c := range conditions {
		f, err := mlflow.TagEquals(c.key, c.value)
		all = errors.Join(all, err)
		if c.not {
			f = strings.Replace(f, "` = ", "` != ", 1)
		}
		parts = append(parts, f)
	}
	return mlflow.And(parts...), all
}
