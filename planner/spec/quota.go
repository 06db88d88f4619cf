package spec

import (
	"slices"
	"strings"
)

// QuotasOf names the quotas that bound a model: the one that it names, that of its
// id, and that of its provider, which is its route up to the first slash.
func (s *Spec) QuotasOf(m Model) []string {
	provider, _, _ := strings.Cut(m.Route, "/")
	var out []string
	for _, name := range []string{m.Quota, m.ID, provider} {
		if _, ok := s.Quotas[name]; ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
