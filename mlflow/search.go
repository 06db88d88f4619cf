package mlflow

import (
	"context"
	"strings"
)

const defaultPageSize = 2000

// SearchRuns returns all runs that match: see [Client.EachRun].
func (c *Client) SearchRuns(ctx context.Context, s Search) ([]Run, error) {
	var all []Run
	err := c.EachRun(ctx, s, func(r Run) { all = append(all, r) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// EachRun visits all runs that match, page by page, each once, in a stable order, and holds no more than a page. A server that repeats
// a page token, or whose pages lead nowhere, is an error: an incomplete list is never taken for a whole one. No visit is no proof of
// absence on a server with logins, which leaves out what may not be read: see [Client.GetExperiment].
func (c *Client) EachRun(ctx context.Context, s Search, visit func(Run)) error {
	if err := s.check(); err != nil {
		return err
	}
	in := struct {
		ExperimentIDs []string `json:"experiment_ids"`
		Filter        string   `json:"filter,omitempty"`
		View          View     `json:"run_view_type"`
		MaxResults    int      `json:"max_results"`
		OrderBy       []Order  `json:"order_by"`
		PageToken     string   `json:"page_token,omitempty"`
	}{s.ExperimentIDs, s.Filter, s.View, s.PageSize, []Order{s.OrderBy}, ""}
	pages := newPages(runsSearch.name)
	for {
		if left := s.Limit - len(pages.rows); s.Limit > 0 && left < in.MaxResults {
			in.MaxResults = left
		}
		var out struct {
			Runs      []runWire `json:"runs"`
			NextToken string    `json:"next_page_token"`
		}
		if err := c.call(ctx, runsSearch, nil, in, &out); err != nil {
			return err
		}
		fresh := 0
		for _, w := range out.Runs {
			run := w.run()
			if run.Info.RunID == "" {
				return &Error{Op: runsSearch.name, Kind: ErrNotJSON, Message: "the server returned a run without an id"}
			}
			if pages.fresh(run.Info.RunID) {
				visit(run)
				fresh++
			}
			if s.Limit > 0 && len(pages.rows) == s.Limit {
				return nil
			}
		}
		more, err := pages.next(out.NextToken, fresh)
		if err != nil || !more {
			return err
		}
		in.PageToken = out.NextToken
	}
}

func (s *Search) check() error {
	op := runsSearch.name
	if len(s.ExperimentIDs) == 0 {
		return invalid(op, "no experiment is named: the server would find nothing")
	}
	for _, id := range s.ExperimentIDs {
		if err := checkID(op, "an experiment's id", id); err != nil {
			return err
		}
	}
	if s.View == "" {
		s.View = ViewActive
	}
	if s.View != ViewActive && s.View != ViewDeleted && s.View != ViewAll {
		return invalid(op, "view %q is none of ACTIVE_ONLY, DELETED_ONLY, ALL", string(s.View))
	}
	if s.OrderBy == "" {
		s.OrderBy = OldestFirst
	}
	if s.OrderBy != OldestFirst && s.OrderBy != NewestFirst {
		return invalid(op, "order %q: only start time is a stable order", string(s.OrderBy))
	}
	if s.PageSize == 0 {
		s.PageSize = defaultPageSize
	}
	if s.PageSize < 1 || s.PageSize > MaxPageSize {
		return invalid(op, "page size %d is not between 1 and %d", s.PageSize, MaxPageSize)
	}
	if n := strings.Count(strings.ToUpper(s.Filter), " AND ") + 1; n > maxConditions {
		return invalid(op, "the filter has %d conditions, at most %d can be joined by every database: search more widely and match on the client", n, maxConditions)
	}
	return nil
}

// pages follows a paged answer: rows once each, tokens never twice.
type pages struct {
	op     string
	rows   map[string]bool
	tokens map[string]bool
}

func newPages(op string) *pages {
	return &pages{op: op, rows: map[string]bool{}, tokens: map[string]bool{}}
}

// fresh tells whether the row has not been seen: rows made between two pages shift the later ones.
func (p *pages) fresh(id string) bool {
	if p.rows[id] {
		return false
	}
	p.rows[id] = true
	return true
}

// next tells whether another page follows the one that ended in token (absent, empty and null all end) and had so many fresh rows.
func (p *pages) next(token string, fresh int) (bool, error) {
	if token == "" {
		return false, nil
	}
	if p.tokens[token] {
		return false, &Error{Op: p.op, Kind: ErrNotJSON, Message: "the server repeats a page token: its list can't be read to the end"}
	}
	if fresh == 0 {
		return false, &Error{Op: p.op, Kind: ErrNotJSON, Message: "the server promises more pages after one that holds nothing new: its list can't be read to the end"}
	}
	p.tokens[token] = true
	return true, nil
}
