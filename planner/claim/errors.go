package claim

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrLost says that somebody took a claim over, or that the ledger run is gone: end
// the runner, and log what it cost as superseded.
var ErrLost = errors.New("the claim was lost")

// ErrNoClock says that the server's answers carry no time, without which no lease can
// be judged.
var ErrNoClock = errors.New("the server's answers have no header Date, by which leases are judged: let the proxy in front of it pass the header on")

// Deleted says that somebody deleted a ledger run, which can be undone.
type Deleted struct {
	Run string // its id
	Of  string // what it is the ledger of
}

func (e *Deleted) Error() string {
	return fmt.Sprintf("the ledger run of %s was deleted, and with it the claims of everybody at work: restore it in MLflow, "+
		"as with `mlflow runs restore --run-id %s`", e.Of, e.Run)
}

// Holder is who holds a claim.
type Holder struct {
	Launcher string // as it named itself; "" = its heartbeat is missing
	Session  string
	Since    time.Time // server's time, UTC
	Until    time.Time // when its lease ends unless it is renewed; server's time, UTC
	Lapsed   bool      // it is overdue, and may be taken over after half a lease
}

func (h Holder) String() string {
	who := h.Launcher
	if who == "" {
		who = "session " + h.Session
	}
	return fmt.Sprintf("%s since %s, till %s", who, h.Since.Format(time.RFC3339), h.Until.Format(time.RFC3339))
}

// Full says that all slots of a quota are taken.
type Full struct {
	Quota   string
	AtOnce  int
	Holders []Holder // by number of the slot
}

func (e *Full) Error() string {
	var who []string
	for _, h := range e.Holders {
		who = append(who, h.String())
	}
	return fmt.Sprintf("quota %s: all %d slots are taken: %s", e.Quota, e.AtOnce, strings.Join(who, "; "))
}

// Ceiling says that a reservation would pass a batch's ceiling.
type Ceiling struct {
	CeilingUSD float64
	WantUSD    float64 // that was to be reserved
	SpentUSD   float64 // settled, and what members took and have not settled
	HeldUSD    float64 // the part of it that other members took and may give back
	DeadUSD    float64 // the part of it that members took who left or lapsed: see Budget.Inherit
}

func (e *Ceiling) Error() string {
	return fmt.Sprintf("$%.4f would pass the ceiling of $%.2f: $%.4f are spent or reserved, $%.4f of it by others at work and $%.4f by launchers that ended without settling",
		e.WantUSD, e.CeilingUSD, e.SpentUSD, e.HeldUSD, e.DeadUSD)
}
