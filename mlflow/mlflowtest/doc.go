// Package mlflowtest is for tests of what talks to MLflow: an in-memory server, faults to put in front of any server, real servers
// shared by the tests of one package, and the conformance suite that keeps the in-memory server honest.
//
//   - [NewFake] starts the in-memory server, swallowing what MLflow swallows.
//   - [Faults] lose answers, cut bodies, redirect, refuse: in front of the fake (Fake.Inject) or of a real server ([NewProxy]).
//   - [Real] gives a real server of a pinned version; a package that uses it calls [Main] from its TestMain. [RealOnPostgres] keeps its runs in PostgreSQL.
//   - [RunConformance] is what the fake and the real servers of all supported versions pass, [RunRaces] its part that depends on the database.
//   - [Client], [Experiment] and [Post] save tests the preliminaries.
package mlflowtest
