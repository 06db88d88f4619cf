package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/benchbatch/benchbatch/export"
	"github.com/benchbatch/benchbatch/export/document"
	"github.com/benchbatch/benchbatch/export/stats"
)

// own is text of ours, such as a figure.
type own = document.Own

// number prints a figure with three digits, the same everywhere.
func number(v float64) own { return own(strconv.FormatFloat(v, 'f', 3, 64)) }

func maybe(v *float64) own {
	if v == nil || math.IsInf(*v, 0) || math.IsNaN(*v) {
		return "no data"
	}
	return number(*v)
}

// signed prints a difference; what rounds to 0 has no sign.
func signed(v float64) own {
	if math.Abs(v) < 0.0005 {
		return number(0)
	}
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// averaged is what the rule compares, averaged, in words: foreign where it names a judge.
func (p *page) averaged(of string) string {
	switch judge, ok := strings.CutPrefix(p.v.Metric, "judge/"); {
	case ok:
		return "mean vote of " + judge + of
	case p.v.Metric == "passed":
		return "share of passes" + of
	}
	return "mean score" + of
}

// scored says whether the rule compares scores: figures of single runs are always of scores.
func (p *page) scored() bool { return p.v.Metric == "" || p.v.Metric == "score" }

// ofScores marks figures of scores where the rule compares something else.
func (p *page) ofScores() own {
	if p.scored() {
		return ""
	}
	return ", of scores"
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// between prints a figure with its interval.
func between(v float64, i *stats.Interval) own {
	if i == nil {
		return number(v)
	}
	return number(v) + " [" + number(i.Low) + ", " + number(i.High) + "]"
}

// dollars prints USD with four decimals, or with as many as three digits need.
func dollars(v float64) own { return own(export.Dollars(v)) }

// share prints a declared share as it was declared.
func share(v float64) own { return own(strconv.FormatFloat(math.Round(v*1e6)/1e4, 'g', -1, 64)) + " %" }

func percent(v float64) own { return own(strconv.FormatFloat(100*v, 'f', 1, 64)) + " %" }

// covered is a share that never reads as all where something is missing.
func covered(v float64) own { return percent(math.Floor(v*1000+1e-9) / 1000) }

// pValue prints a p beside what it was decided by.
func pValue(p *float64, level float64) own {
	if p == nil {
		return "–"
	}
	return own(export.PValue(*p, level))
}

func days(d time.Duration) own { return own(strconv.FormatFloat(d.Hours()/24, 'f', 1, 64) + " days") }

func stamp(t time.Time) own { return own(t.UTC().Format("2006-01-02 15:04 UTC")) }

func day(t time.Time) own { return own(t.UTC().Format("2006-01-02")) }

func whole(n int) own { return own(strconv.Itoa(n)) }

// many is "1 task" or "3 tasks".
func many(n int, word string) own {
	if n == 1 {
		return own("1 " + word)
	}
	if stem, ok := strings.CutSuffix(word, "y"); ok {
		return own(strconv.Itoa(n) + " " + stem + "ies")
	}
	return own(strconv.Itoa(n) + " " + word + "s")
}

func areIs(n int, word string) own {
	if n == 1 {
		return own("1 " + word + " is")
	}
	return many(n, word) + " are"
}

func have(n int, word string) own {
	if n == 1 {
		return own("1 " + word + " has")
	}
	return many(n, word) + " have"
}

// dash stands where there is nothing to say.
func dash(t document.Text) document.Text {
	if len(t) == 0 {
		return say("–")
	}
	return t
}

// atLeast prints a sum of money with what is unknown of it; what counts tries.
func atLeast(s export.Sum) own {
	switch {
	case s.Known == 0 && s.Unknown == 0:
		return "nothing was tried"
	case s.Known == 0:
		return "unknown (" + many(s.Unknown, "attempt") + ", none of known cost)"
	case s.Unknown == 0:
		return dollars(s.Total) + " USD (" + many(s.Known, "attempt") + ")"
	}
	return "at least " + dollars(s.Total) + " USD (" + many(s.Known, "attempt") + "), and " + whole(s.Unknown) + " of unknown cost"
}

// amount prints a sum of money in a sentence, with two digits where that is enough.
func amount(s export.Sum) own {
	switch value := roughly(s.Total) + " USD"; {
	case s.Known == 0 && s.Unknown == 0:
		return "nothing"
	case s.Known == 0:
		return "an unknown amount"
	case s.Unknown == 0:
		return value
	default:
		return "at least " + value
	}
}

// roughly prints USD with two decimals where that is enough.
func roughly(v float64) own {
	if v < 0.1 {
		return dollars(v)
	}
	return own(strconv.FormatFloat(v, 'f', 2, 64))
}

// usd prints a sum of money in a table.
func usd(s export.Sum) own {
	switch {
	case s.Known == 0 && s.Unknown == 0:
		return "–"
	case s.Known == 0:
		return "unknown"
	case s.Unknown == 0:
		return dollars(s.Total)
	}
	return "≥ " + dollars(s.Total)
}

// short1 prints seconds with one digit.
func short1(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
