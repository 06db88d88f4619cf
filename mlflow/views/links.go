package views

import (
	"net/url"
	"strings"
)

// Links makes addresses of pages in the MLflow UI, which every supported version opens.
type Links struct {
	// Server is its address with the path prefix, without a final slash. "" makes links for a note on the same
	// server, which hold whatever address and prefix the reader came by.
	Server string
}

// Experiment is the table of an experiment's runs.
func (l Links) Experiment(id string) string {
	return l.page("experiments", id, "runs") + "?" + trained
}

// trained opens a page in the mode that shows runs: a new browser of MLflow 3 begins in the other. MLflow 2 takes no notice.
const trained = "workflowType=machine_learning"

// EvaluationRuns is the page "Evaluation runs" of the GenAI mode, which MLflow 2 does not have.
func (l Links) EvaluationRuns(experiment string) string {
	return l.page("experiments", experiment, "evaluation-runs") + "?workflowType=genai"
}

// Run is a run's page.
func (l Links) Run(experiment, run string) string {
	return l.inMode(l.page("experiments", experiment, "runs", run))
}

// Artifact is the preview of a run's file.
func (l Links) Artifact(experiment, run, path string) string {
	parts := []string{"experiments", experiment, "runs", run, "artifacts"}
	return l.inMode(l.page(append(parts, strings.Split(path, "/")...)...))
}

func (l Links) inMode(page string) string {
	if l.Server == "" { // who reads a note is in a mode already
		return page
	}
	return page + "?" + trained
}

// File is where a run's file is downloaded, or shown if it stands as an image.
func (l Links) File(run, path string) string {
	q := "get-artifact?run_uuid=" + url.QueryEscape(run) + "&path=" + strings.ReplaceAll(url.QueryEscape(path), "%2F", "/")
	if l.Server == "" {
		return q
	}
	return l.Server + "/" + q
}

// View opens a view, in the way that it names.
func (l Links) View(experiment string, v View) string {
	q := "viewStateShareKey=" + url.QueryEscape(v.ID)
	if v.Opens != Table {
		q += "&compareRunsMode=" + string(v.Opens)
	}
	return l.page("experiments", experiment, "runs") + "?" + q + "&" + trained
}

func (l Links) page(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	fragment := "#/" + strings.Join(parts, "/")
	if l.Server == "" {
		return fragment
	}
	return l.Server + "/" + fragment
}
