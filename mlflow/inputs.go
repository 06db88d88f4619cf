package mlflow

import "context"

// LogInputs records which data a run used. An input that is there already (by name and digest) is left as it is.
func (c *Client) LogInputs(ctx context.Context, runID string, inputs []DatasetInput) error {
	op := runsLogInputs.name
	if err := checkID(op, "the run id", runID); err != nil {
		return err
	}
	if len(inputs) == 0 {
		return nil
	}
	in := struct {
		RunID    string             `json:"run_id"`
		Datasets []datasetInputWire `json:"datasets"`
	}{RunID: runID}
	for _, d := range inputs {
		if err := checkInput(op, d); err != nil {
			return err
		}
		wire := datasetInputWire{Dataset: datasetWire{
			Name: d.Name, Digest: d.Digest, SourceType: d.SourceType, Source: d.Source, Schema: d.Schema, Profile: d.Profile,
		}}
		if d.Context != "" {
			wire.Tags = []Tag{{contextTag, d.Context}}
		}
		in.Datasets = append(in.Datasets, wire)
	}
	return c.call(ctx, runsLogInputs, nil, in, nil)
}

func checkInput(op string, d DatasetInput) error {
	for _, f := range []struct {
		what, value string
		limit       int
		required    bool
	}{
		{"name", d.Name, maxDatasetName, true},
		{"digest", d.Digest, maxDatasetDigest, true},
		{"source type", d.SourceType, maxDatasetName, true},
		{"source", d.Source, maxDatasetSource, true},
		{"schema", d.Schema, maxDatasetSchema, false},
		{"profile", d.Profile, maxDatasetProfile, false},
		{"context", d.Context, maxInputTagValue, false},
	} {
		if f.required && f.value == "" {
			return invalid(op, "the dataset's %s is empty", f.what)
		}
		if err := checkText(op, "the dataset's "+f.what, f.value, f.limit); err != nil {
			return err
		}
	}
	return nil
}
