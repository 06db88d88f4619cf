package cli

import "runtime/debug"

// frugal has the collector work often until lavish is called: a launcher computes little,
// and lives as long as its evaluations do. GOGC wins where it is set.
func (a *App) frugal() (lavish func()) {
	if set, _ := a.Env("GOGC"); set != "" {
		return func() {}
	}
	usual := debug.SetGCPercent(50)
	return func() { debug.SetGCPercent(usual) }
}
