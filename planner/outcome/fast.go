package outcome

// fast reads a whole line. Its result counts only if it says true.
func (o *Outcome) fast(s *scanner, line []byte) bool {
	s.b, s.i = line, 0
	ok := s.object(func(key []byte) (uint, bool) { return o.member(s, key) })
	s.space()
	return ok && s.i == len(s.b)
}

// member reads the value of one key: its number among the keys, and whether all is well.
func (o *Outcome) member(s *scanner, key []byte) (uint, bool) {
	switch string(key) {
	case "task":
		return 0, s.text(&o.Task)
	case "state":
		return 1, s.text((*string)(&o.State))
	case "score":
		return 2, s.float(&o.Score)
	case "passed":
		return 3, s.flag(&o.Passed)
	case "attempt":
		return 4, s.number(&o.Attempt)
	case "judges":
		return 5, list(s, &o.Judges, (*Vote).member)
	case "tokens":
		return 6, record(s, &o.Tokens, (*Tokens).member)
	case "cost_usd":
		return 7, s.float(&o.CostUSD)
	case "duration_s":
		return 8, s.float(&o.DurationS)
	case "wait_s":
		return 9, s.float(&o.WaitS)
	case "tool_calls":
		return 10, s.count(&o.ToolCalls)
	case "tool_errors":
		return 11, s.count(&o.ToolErrors)
	case "served":
		return 12, record(s, &o.Served, (*Served).member)
	case "output":
		return 13, s.text(&o.Output)
	case "transcript":
		return 14, s.text(&o.Transcript)
	case "flags":
		return 15, list(s, &o.Flags, (*Flag).member)
	case "error":
		return 16, record(s, &o.Error, (*Failure).member)
	case "repaired":
		return 17, s.boolean(&o.Repaired)
	case "accepted": // of attempts.jsonl
		var ignored bool
		return 18, s.boolean(&ignored)
	}
	return 0, false
}

func (v *Vote) member(s *scanner, key []byte) (uint, bool) {
	switch string(key) {
	case "name":
		return 0, s.text(&v.Name)
	case "score":
		return 1, s.float(&v.Score)
	case "kind":
		return 2, s.text(&v.Kind)
	case "model":
		return 3, s.text(&v.Model)
	case "samples":
		return 4, s.numbers(&v.Samples)
	case "cost_usd":
		return 5, s.float(&v.CostUSD)
	case "rationale":
		return 6, s.text(&v.Rationale)
	case "error":
		return 7, s.text(&v.Error)
	}
	return 0, false
}

func (t *Tokens) member(s *scanner, key []byte) (uint, bool) {
	switch string(key) {
	case "input":
		return 0, s.count(&t.Input)
	case "cache_read":
		return 1, s.count(&t.CacheRead)
	case "cache_write":
		return 2, s.count(&t.CacheWrite)
	case "output":
		return 3, s.count(&t.Output)
	}
	return 0, false
}

func (v *Served) member(s *scanner, key []byte) (uint, bool) {
	switch string(key) {
	case "model":
		return 0, s.text(&v.Model)
	case "provider":
		return 1, s.text(&v.Provider)
	}
	return 0, false
}

func (f *Flag) member(s *scanner, key []byte) (uint, bool) {
	switch string(key) {
	case "audit":
		return 0, s.text(&f.Audit)
	case "evidence":
		return 1, s.text(&f.Evidence)
	}
	return 0, false
}

func (f *Failure) member(s *scanner, key []byte) (uint, bool) {
	switch string(key) {
	case "class":
		return 0, s.text((*string)(&f.Class))
	case "message":
		return 1, s.text(&f.Message)
	}
	return 0, false
}
