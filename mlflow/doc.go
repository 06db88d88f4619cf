// Package mlflow is a thin client of an MLflow tracking server's REST interface: experiments, runs, tags,
// logged batches, dataset inputs, search, artifacts and traces. It knows nothing of benchmarks.
//
// Order of use: [FromEnv] reads MLflow's own environment variables and credentials file, [New] makes a [Client],
// whose methods are safe for use by many goroutines.
//
//	cfg, err := mlflow.FromEnv(os.Getenv, home)
//	client, err := mlflow.New(cfg)
//	exp, err := client.EnsureExperiment(ctx, "support-bench", nil)
//	info, err := client.CreateRun(ctx, mlflow.CreateRun{ExperimentID: exp.ID, Name: "cell 1", StartTime: now, Tags: tags, UniqueTag: "my.uuid"})
//	err = client.LogBatch(ctx, info.RunID, mlflow.Batch{Metrics: metrics, Params: params})
//	_, err = client.UpdateRun(ctx, info.RunID, mlflow.StatusFinished, end)
//
// # What is refused before it is sent
//
// An MLflow server answers 200 to requests that it cuts, half-applies or ignores: a NaN metric drops everything after it, a tag
// over 8,000 characters is cut. Such values are refused here with their name, limit and length (errors.Is(err, ErrInvalid)).
//
// # What is tried again
//
// The table in routes.go says of every call whether it may be repeated. Reads, writes where the last one wins and writes that
// the server recognises as repeated are; a run is never created blindly a second time: see [CreateRun].
// Waits are bounded by the context's deadline and by [Config.Patience].
//
// # Errors
//
// Every error of a call is an [*Error], which names the call, the address (without secrets and query), the server's code and message
// and what to do. Kinds are told apart with errors.Is: [ErrNotFound], [ErrUnauthorized], [ErrForbidden], [ErrUnreachable],
// [ErrAlreadyExists], [ErrParamTaken], [ErrDeleted], [ErrNotJSON], [ErrRedirected], [ErrInvalid], [ErrDeadline], [ErrStateUnknown], [ErrNotStored], [ErrNotOffered].
// [New] returns those of an address: [ErrNoServer], [ErrUnsupported].
//
// All times are milliseconds since the epoch, UTC.
package mlflow
