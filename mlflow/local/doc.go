// Package local runs a real MLflow server on loopback, for whoever has none: SQLite and artifacts in one folder.
//
// [Start] starts it, or finds the one that already serves the folder; [Status] tells what serves a folder; [Stop] ends it.
// What serves a folder stands in .benchbatch/server.json below it, its output in .benchbatch/server.log. The server outlives the
// program that started it, unless [Options.EndWithParent] is set.
//
// A database that another version of MLflow wrote is never upgraded: Start refuses it ([ErrSchema]) and says what can be done.
// [ErrNoExecutable] says that no MLflow is installed here, or not where it was said to be.
//
// Linux and macOS; MLflow itself is not installed here.
package local
