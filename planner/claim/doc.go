// Package claim lets any number of launchers on any number of machines share the
// work of one recipe, with MLflow as their only meeting point. Three things are
// shared: the repeats of a cell, the numbered slots of a quota and the money below a
// batch's ceiling.
//
// # Order of use
//
// Once a process:
//
//	book, err := claim.OpenRecipe(ctx, client, experimentID, recipe, "support-bench v1")
//	member, err := book.Join(ctx, claim.Options{Launcher: name, Gone: gone}) // gone: dead processes of this machine
//	go member.Keep(ctx, report)                                             // renews the lease of all that is held
//	quotas, err := claim.OpenQuotas(ctx, client, experimentID)              // joined and kept likewise
//	budget, err := member.Budget(parentRunID, ceilingUSD, ceilingUSD/50)
//	estates, err := budget.Inherit(ctx)                                     // of the dead: SettleEstate with what their runs cost
//	defer member.Leave(ctx)                                                 // after budget.Return
//
// For each evaluation, what is cheap to give back first:
//
//	slot, err := quotaMember.Slot(ctx, "cerebras", 2) // *Full: others have it; kept from one evaluation to the next
//	money, err := budget.Reserve(ctx, price)          // *Ceiling: end tidily
//	answers, err := member.Claim(ctx, claim.Want{Cell: cell, Slot: 3, Past: past})
//	lease := answers[0].Won                           // nil: somebody else holds it, or it is done
//	if lease.Before != nil { … }                      // look whether its launcher logged a result before it died
//	ctx, cancel := lease.Context(ctx)                 // ends when the claim is lost: end the runner
//	…                                                 // measure
//	err = lease.Confirm(ctx)                          // ErrLost: log the evaluation as superseded, with its cost; see Found
//	…                                                 // log the evaluation
//	err = lease.Done(ctx, runID)                      // or Release(ctx, reason): the next claimant need not wait
//	err = money.Settle(&cost)
//
// Batch claims the beginning of a batch, so that its run is created once. Peek says
// without a call how a repeat stood at the last heartbeat; Others, who else is at work.
// Look reads how the claims of a recipe stand, for who only looks.
//
// Past says which runs the plan has judged already and not counted for this slot.
//
// A claim is one call and its end another; a heartbeat is two calls an interval,
// however much is held; Confirm costs nothing while heartbeats succeed, and a slot
// that is kept and money from a tranche that lasts cost nothing. A loser spends
// nothing: it learns who holds the repeat, since when, and till when.
//
// # How it works
//
// MLflow writes a parameter once. A claim is the parameter KEY/GENERATION on the
// ledger run, its value the session that won. Whoever comes second is refused, and
// reads who came first. Only that decides; tags say how things stand:
//
//	claim/CELL/SLOT/GENERATION = SESSION SINCE
//	batch/KEY/GENERATION = SESSION SINCE
//	quota/NAME/NUMBER/GENERATION = SESSION SINCE, number 0 for a quota as a whole
//	budget/BATCH/NUMBER/GENERATION = SESSION SINCE USD
//	tag beat/SESSION = until TIME LAUNCHER, or: left TIME LAUNCHER
//	tag end/KEY/GENERATION = done TIME RUN, or: released TIME REASON, or: spent TIME USD [paid without a reservation]
//
// The next generation may be claimed when the one before it was released, or when
// its session left, or when it lapsed: its heartbeat is overdue and was seen
// unchanged for another half of a lease. So launchers that come back together after the
// server was away do not rob each other, nor is one robbed whose heartbeats take half a
// lease to arrive. A launcher that Options.Gone knows to be
// dead is not waited for. Done is final, except for a claimant who knows (Want.Past)
// that the run does not fill its slot: deleted, too old, of another rule.
//
// All times are the server's, from the header Date of its answers, carried on by the
// monotonic clock; what a machine believes to be the time decides nothing.
//
// While the server is away, nothing can be claimed and nothing is lost: who holds a
// claim goes on. A launcher that was cut off alone learns ErrLost with its first
// heartbeat that succeeds, if somebody took over meanwhile.
//
// # The ledger run
//
// There is one for each recipe in the benchmark's experiment, and one for quotas in
// an experiment. It is elected by creating an experiment whose name is a lock and
// whose tag names the candidate run; the lock is then deleted softly, which keeps
// name and tag and shows nothing to anybody. A crash between two steps leaves a
// candidate that the next launcher adopts or removes. A ledger run that somebody
// deleted is an error (*Deleted) that says how to restore it; after one that is gone for good a
// new one is elected, and members of the old one have lost what they held.
//
// # Quotas and ceilings
//
// The slots of a quota are numbered 1 to at_once and leased like repeats. They are
// shared by all who open the quotas of the same experiment: the benchmark's own by
// default, for which everybody who can run it has permission; benchmarks that share a
// provider's key name one experiment. Where two name a quota with different sizes,
// each keeps to its own numbers. Whole takes what only one launcher at a time may use,
// with as many slots as it likes. A member should keep a slot while it has work for
// it: each lease is a parameter more.
//
// Money is a sum, which no parameter can hold, so it is taken in tranches numbered
// without gaps. Who takes number n+1 has read all before it, and nobody else can take
// it: so what is taken never exceeds the ceiling. A member spends from its tranches
// without asking, and settles them with what they really cost. What a dead member
// took counts as spent in full until somebody inherits it and says what it was.
//
// # Errors
//
// ErrLost, ErrNoClock, *Deleted, *Full, *Ceiling; all others are those of package
// mlflow. After an error of Claim it is unknown whether the claim was written: calling it
// again is safe, and what is not asked for again is released by the next heartbeat.
package claim
