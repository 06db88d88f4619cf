package evaluation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// unheard are the outcomes that a runner left in its private folder, and that nobody
// may have written down. They are as free of secrets as m.red knows them.
func (m *measurement) unheard() (all []outcome.Outcome) {
	known := map[string]bool{}
	for _, tree := range m.leftTrees(0) {
		l := m.readLines(tree.Out(), m.req.Spec.Tasks)
		for _, t := range m.req.Spec.Tasks {
			if o, ok := l.of[t.ID]; ok && !known[t.ID] {
				known[t.ID] = true
				all = append(all, o)
			}
		}
	}
	return all
}

// gatherTask finds the line that a runner wrote for its one task and that nobody had
// read yet.
func (m *measurement) gatherTask(at string, tasks []batch.Task, got map[string]answer) error {
	open := slices.DeleteFunc(slices.Clone(tasks), func(t batch.Task) bool { return got[t.ID].Task != "" })
	for _, tree := range m.leftTrees(0) {
		l := m.readLines(tree.Out(), open)
		for _, t := range open {
			if l.of[t.ID].Task == "" && l.refused[t.ID] == "" {
				continue
			}
			name := fileName(t.ID)
			out := at + "/out/tasks/" + name
			if err := os.RemoveAll(m.keep.path(out)); err != nil {
				return err
			}
			kept, err := m.gather(&program{tree: tree}, out, at+"/logs/"+name+".", l)
			got[t.ID] = m.answerOf(t.ID, l, kept, out, outcome.Outcome{})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// heardJudge takes what a judge had said when the launcher was ended: it is not asked
// about that again. What it failed at is on the bill.
func (m *measurement) heardJudge(n int, tasks []batch.Task, got map[string]answer) {
	for _, tree := range m.leftTrees(n) {
		todo := openOf(tasks, got)
		if len(todo) == 0 {
			return
		}
		l := m.readLines(tree.Out(), todo)
		at := fmt.Sprintf("attempt-%d/", n)
		at += cutName(m.keep.path(at), "judge")
		if _, err := m.gather(&program{tree: tree}, at+"/out", at+"/", l); err != nil {
			m.problem("%v", err)
		}
		for _, t := range todo {
			v, said := m.view(t.ID, l, "")
			switch {
			case !said:
			case v.State == outcome.Judge:
				m.judgedAgain(n, v)
			default:
				got[t.ID] = answer{Outcome: m.merge(got[t.ID].Outcome, v)}
			}
		}
	}
}

// leftTrees are the private folders that earlier runners and checks left, if they wrote
// anything; with an attempt those of its judges.
func (m *measurement) leftTrees(judged int) (all []Tree) {
	base, err := workBase(m.req.WorkRoot)
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(base) // nothing there: nothing was left
	for _, e := range m.earlier {
		for _, outer := range entries {
			if !strings.HasPrefix(outer.Name(), treePrefix(e.UUID)) {
				continue
			}
			trees, _ := treesIn(filepath.Join(base, outer.Name())) // nothing there: another one is looked for
			for _, t := range trees {
				if _, err := os.Lstat(filepath.Join(t.Out(), batch.FileOutcomes)); err == nil && t.judged() == judged {
					all = append(all, t)
				}
			}
		}
	}
	return all
}

// judged is the attempt that a judge's folder is of; 0 = it is not a judge's.
func (t Tree) judged() int {
	var j job
	b, err := os.ReadFile(t.Job())
	if err != nil || json.Unmarshal(b, &j) != nil || j.RunnerOut == "" {
		return 0
	}
	return j.Attempt
}
