package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/benchbatch/benchbatch/planner/spec"
)

// complete gives the shell the values of arguments and flags. It asks no server:
// what it knows is in the spec and in the folders below this one.
func (a *App) complete(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
	for _, word := range strings.Fields(c.Use)[1:] {
		switch strings.Trim(word, "[].") {
		case "SPEC":
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
			}
		case "FOLDER", "DIR":
			c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		case "BATCH", "A":
			c.ValidArgsFunction = a.batches
		}
	}
	for flag, values := range map[string]func(*spec.Spec) []string{"only": choices, "fresh": variants, "explain": variants, "agent": agents, "model": models} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, a.fromSpec(values)) // fails where the flag is unknown or done twice
		}
	}
	for flag, values := range map[string][]string{"view": strings.Split(viewNames, ", "), "withhold": {"raw", "inputs"}} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// batches are the names of the dated folders that lie here, beside files.
func (a *App) batches(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{"latest"}
	found, _ := filepath.Glob(filepath.Join(a.Dir, "batches", "*", "result.json")) // only a bad pattern fails
	for _, f := range found {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names, cobra.ShellCompDirectiveDefault
}

// fromSpec completes the last of the values between commas from the spec that is named.
func (a *App) fromSpec(values func(*spec.Spec) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := spec.Load(args[0], a.Env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		before := begun[:strings.LastIndex(begun, ",")+1]
		out := values(s)
		for i := range out {
			out[i] = before + out[i]
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func agents(s *spec.Spec) []string {
	var out []string
	for _, a := range s.Agents {
		out = append(out, a.ID)
	}
	return out
}

func models(s *spec.Spec) []string {
	var out []string
	for _, m := range s.Models {
		out = append(out, m.ID)
	}
	return out
}

func choices(s *spec.Spec) []string {
	var out []string
	for _, a := range agents(s) {
		out = append(out, "agent="+a)
	}
	for _, m := range models(s) {
		out = append(out, "model="+m)
	}
	return out
}

func variants(s *spec.Spec) []string {
	var out []string
	for _, a := range agents(s) {
		for _, m := range models(s) {
			out = append(out, a+"+"+m)
		}
	}
	return out
}
