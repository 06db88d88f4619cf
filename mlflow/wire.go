package mlflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// int64Wire reads a 64-bit integer as a JSON number (MLflow) or as a string (other servers of the same interface).
type int64Wire int64

func (v *int64Wire) UnmarshalJSON(b []byte) error {
	s := string(bytes.Trim(b, `"`))
	if s == "null" {
		return nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		*v = int64Wire(n)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return fmt.Errorf("%q is no 64-bit integer", clip(s, 40))
	}
	*v = int64Wire(f)
	return nil
}

// floatWire reads a double as a JSON number or as one of the words for what JSON has no number for.
type floatWire float64

func (v *floatWire) UnmarshalJSON(b []byte) error {
	s := string(bytes.Trim(b, `"`))
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%q is no number", clip(s, 40))
	}
	*v = floatWire(f)
	return nil
}

// UnmarshalJSON reads a point with "NaN" and integers as strings.
func (m *Metric) UnmarshalJSON(b []byte) error {
	var w struct {
		Key       string    `json:"key"`
		Value     floatWire `json:"value"`
		Timestamp int64Wire `json:"timestamp"`
		Step      int64Wire `json:"step"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*m = Metric{Key: w.Key, Value: float64(w.Value), Timestamp: int64(w.Timestamp), Step: int64(w.Step)}
	return nil
}

type runWire struct {
	Info   infoWire  `json:"info"`
	Data   RunData   `json:"data"`
	Inputs inputWire `json:"inputs"`
}

type infoWire struct {
	RunID          string     `json:"run_id"`
	RunUUID        string     `json:"run_uuid"`
	RunName        string     `json:"run_name"`
	ExperimentID   string     `json:"experiment_id"`
	Status         RunStatus  `json:"status"`
	StartTime      int64Wire  `json:"start_time"`
	EndTime        *int64Wire `json:"end_time"`
	ArtifactURI    string     `json:"artifact_uri"`
	LifecycleStage string     `json:"lifecycle_stage"`
}

type inputWire struct {
	DatasetInputs []datasetInputWire `json:"dataset_inputs"`
}

type datasetInputWire struct {
	Tags    []Tag       `json:"tags,omitempty"`
	Dataset datasetWire `json:"dataset"`
}

type datasetWire struct {
	Name       string `json:"name"`
	Digest     string `json:"digest"`
	SourceType string `json:"source_type"`
	Source     string `json:"source"`
	Schema     string `json:"schema,omitempty"`
	Profile    string `json:"profile,omitempty"`
}

// contextTag is the tag of a dataset input that the UI shows beside the dataset.
const contextTag = "mlflow.data.context"

func (w infoWire) info() RunInfo {
	id := w.RunID
	if id == "" {
		id = w.RunUUID
	}
	info := RunInfo{
		RunID: id, RunName: w.RunName, ExperimentID: w.ExperimentID, Status: w.Status,
		StartTime: int64(w.StartTime), ArtifactURI: w.ArtifactURI, LifecycleStage: w.LifecycleStage,
	}
	if w.EndTime != nil {
		end := int64(*w.EndTime)
		info.EndTime = &end
	}
	return info
}

func (w runWire) run() Run {
	run := Run{Info: w.Info.info(), Data: w.Data}
	for _, in := range w.Inputs.DatasetInputs {
		run.Inputs = append(run.Inputs, DatasetInput{
			Name: in.Dataset.Name, Digest: in.Dataset.Digest, SourceType: in.Dataset.SourceType, Source: in.Dataset.Source,
			Schema: in.Dataset.Schema, Profile: in.Dataset.Profile, Context: tagValue(in.Tags, contextTag),
		})
	}
	return run
}
