// Package export writes a frozen batch as a dated folder, and checks such a
// folder with nothing but the folder.
//
// Order of use: Write takes the frozen documents of a batch (plan, result, spec,
// panel) and a way to fetch the raw evidence that the result names, checks every
// byte of it against the frozen digests, lets each Output (tables, report) make
// its files from it, and publishes the whole under its final name in one step.
// Verify reads a folder back: checksums, what every file holds, and whether all
// of it follows from the raw evidence. OpenFolder reads documents and tables back
// (raw evidence may be withheld), gives the evidence again, and makes outputs from it.
//
// What people said of outcomes (Batch.FeedbackJSONL) is kept beside the evidence and
// measures nothing. Read again after the freeze (Options.Feedback) it makes a folder
// with a name of its own, which says what it supersedes.
//
// The package knows neither MLflow nor Parquet: evidence comes by Batch.Fetch,
// and export/tables and export/report are given as Outputs, one each.
//
// Bytes depend on the batch, the options and the versions of the tool and its
// Parquet writer alone: not on the number of workers, the clock, the zone, the
// locale or the machine.
//
// Errors: *InputError (a document of the batch is not usable), *IntegrityError
// (bytes do not match what was frozen; every case is listed), *IncompleteError
// (a provisional export was written with evidence missing), *ExistsError (the
// dated folder is there with other content), *SchemaError (a folder of a format
// that this version does not know), *Unavailable (an artifact could not be asked for). Others are of the file system or of Fetch.
package export
