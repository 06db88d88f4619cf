package cli

import "runtime/debug"

// frugal has the collector keep memory small until lavish is called: a launcher lives
// as long as its evaluations do. GOGC wins where it is set.
func (a *App) frugal() (lavish func()) {
	if set, _ := a.Env("GOGC"); set != "" {
		return func() {}
	}
	usual := debug.SetGCPercent(100)
	return func() { debug.SetGCPercent(usual) }
}
