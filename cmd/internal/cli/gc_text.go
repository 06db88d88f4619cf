package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/executor"
	"github.com/benchbatch/benchbatch/export"
)

func (a *App) showLeft(left *leftOvers, yes bool) {
	if len(left.Runs) == 0 {
		a.print("nothing is RUNNING")
	} else {
		a.showLeftRuns(left.Runs)
	}
	if len(left.Claims) > 0 {
		a.print("")
		a.showLeftClaims(left.Claims)
	}
	dead := slices.ContainsFunc(left.Runs, func(r leftRun) bool { return r.Gone || r.Lapsed })
	if !yes && (dead || len(left.Claims) > 0) {
		a.print("\n`benchbatch gc --yes` closes those that are gone")
	}
}

func (a *App) showLeftRuns(runs []leftRun) {
	var t table
	t.add("run", "variant", "repeat", "since", "launcher", "")
	for _, r := range runs {
		t.add(r.RunID, r.Variant.String(), fmt.Sprint(r.Slot), r.Started, launcherName(cmp.Or(r.Launcher, "another tool")), r.word())
	}
	t.write(a.Stdout)
}

// word says how a run stands.
func (r leftRun) word() string {
	here := executor.LauncherHere(r.Launcher)
	switch {
	case !here && !r.Claimed:
		return "without a lease, so only who runs it can tell: left alone"
	case here && !r.Gone:
		return "at work"
	case r.Closed:
		return "gone: closed"
	case r.Gone:
		return "gone"
	case r.Lapsed:
		return "its lease has lapsed"
	}
	return "its lease holds"
}

func (a *App) showLeftClaims(claims []leftClaims) {
	var t table
	t.add("claims of", "since", "lease till", "on", "holds", "")
	for _, c := range claims {
		t.add(launcherName(cmp.Or(c.Launcher, "session "+c.Session)), c.Since, c.Until, c.Title, c.holds(), c.word())
	}
	t.write(a.Stdout)
}

// word says how a session stands.
func (c leftClaims) word() string {
	switch {
	case c.Closed:
		return "gone: free now"
	case c.Gone:
		return "gone"
	}
	return "its lease has lapsed"
}

// holds lists what a session holds.
func (c leftClaims) holds() string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.Repeats, "repeat"}, {c.Slots, "slot"}} {
		if p.n > 0 {
			parts = append(parts, plural(p.n, p.word))
		}
	}
	if c.Batches > 0 {
		parts = append(parts, "the beginning of a batch")
	}
	if c.USD > 0 {
		parts = append(parts, "$"+export.Dollars(c.USD))
	}
	return strings.Join(parts, ", ")
}
