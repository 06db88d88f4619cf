package evaluation

import (
	"fmt"
	"strings"
)

// Lookup reads one variable of the launcher's own environment.
type Lookup = func(name string) (value string, ok bool)

// Allowed lists the variables that a process gets besides the fixed ones.
type Allowed struct {
	Env     []string // part of the identity; one that is not set is left out
	PassEnv []string // must be set
	Secrets []string // must be set
}

// Environ is the complete environment of a process with a private folder: PATH,
// LANG, HOME, TMPDIR, the job and output paths, and what is allowed by name.
// MLflow's variables are refused: they are given by runner.mlflow alone.
func Environ(t Tree, home string, allow Allowed, lookup Lookup) ([]string, error) {
	env := []string{
		"PATH=" + orDefault(lookup, "PATH", "/usr/local/bin:/usr/bin:/bin"),
		"LANG=" + orDefault(lookup, "LANG", "C.UTF-8"),
		"HOME=" + home,
		"TMPDIR=" + t.Tmp(),
		"BENCHBATCH_JOB=" + t.Job(),
		"BENCHBATCH_OUT=" + t.Out(),
	}
	given := map[string]bool{"PATH": true, "LANG": true, "HOME": true, "TMPDIR": true}
	var unset []string
	add := func(names []string, required bool) error {
		for _, name := range names {
			if strings.HasPrefix(name, "MLFLOW_") {
				return fmt.Errorf("%s can't be passed by name: set runner.mlflow to true if the runner may see the tracking server", name)
			}
			if given[name] || strings.HasPrefix(name, "BENCHBATCH_") {
				continue
			}
			given[name] = true
			if v, ok := lookup(name); ok {
				env = append(env, name+"="+v)
			} else if required {
				unset = append(unset, name)
			}
		}
		return nil
	}
	for _, list := range []struct {
		names    []string
		required bool
	}{{allow.Env, false}, {allow.PassEnv, true}, {allow.Secrets, true}} {
		if err := add(list.names, list.required); err != nil {
			return nil, err
		}
	}
	if len(unset) > 0 {
		return nil, fmt.Errorf("the spec passes %s to the process, but it is not set in the environment; export it first", strings.Join(unset, ", "))
	}
	return env, nil
}

func orDefault(lookup Lookup, name, value string) string {
	if v, ok := lookup(name); ok && v != "" {
		return v
	}
	return value
}
