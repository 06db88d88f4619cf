// Package views keeps named views of MLflow's Runs table: filter, order, columns,
// grouping and charts. A view is a tag of the experiment, opens by a link, and from
// MLflow 3 on stands in the menu "Views". The package knows nothing of benchmarks.
//
// Order of use: describe a [View]; [Set] writes it, unless it stands there already;
// [Links] makes addresses of views, runs and artifacts, whole or as a note on the
// same server holds them; [Remove] takes a view away.
//
// A view that would not be stored whole is refused before it is sent; errors of the
// server come through as *mlflow.Error. Anyone may overwrite a view in the UI:
// nothing is ever read from one.
package views
