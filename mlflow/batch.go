package mlflow

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// batchWire is one log-batch request; run_id stands first, since the server drops whatever follows something it can't read.
type batchWire struct {
	RunID   string   `json:"run_id"`
	Metrics []Metric `json:"metrics,omitempty"`
	Params  []Param  `json:"params,omitempty"`
	Tags    []Tag    `json:"tags,omitempty"`
}

// LogBatch stores parameters, metrics and tags on a run, in as few requests of legal size as possible: parameters first, tags last.
// A request of one kind is stored whole or not at all; of a longer batch a failure can leave a beginning, and the same batch may be sent again.
// If a parameter has another value already, the error is a [*ParamTaken].
func (c *Client) LogBatch(ctx context.Context, runID string, b Batch) error {
	op := runsLogBatch.name
	if err := errors.Join(checkID(op, "the run id", runID), checkParams(op, b.Params), checkMetrics(op, b.Metrics), checkTags(op, b.Tags)); err != nil {
		return err
	}
	chunks, err := split(runID, b)
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if err := c.logChunk(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// split cuts a batch into requests within the server's limits of number and bytes.
func split(runID string, b Batch) ([]batchWire, error) {
	var chunks []batchWire
	chunk := batchWire{RunID: runID}
	overhead := len(runID) + 100
	count, size := 0, overhead
	room := func(item any, full bool) error {
		encoded, err := encode(item)
		if err != nil {
			return err
		}
		n := len(encoded) + 1
		if full || count == maxPerBatch || size+n > maxBatchBytes {
			chunks = append(chunks, chunk)
			chunk, count, size = batchWire{RunID: runID}, 0, overhead
		}
		count, size = count+1, size+n
		return nil
	}
	for _, p := range b.Params {
		if err := room(p, len(chunk.Params) == maxParamsPerBatch); err != nil {
			return nil, err
		}
		chunk.Params = append(chunk.Params, p)
	}
	for _, m := range b.Metrics {
		if err := room(m, len(chunk.Metrics) == maxMetricsPerBatch); err != nil {
			return nil, err
		}
		chunk.Metrics = append(chunk.Metrics, m)
	}
	for _, t := range b.Tags {
		if err := room(t, len(chunk.Tags) == maxTagsPerBatch); err != nil {
			return nil, err
		}
		chunk.Tags = append(chunk.Tags, t)
	}
	if count > 0 {
		chunks = append(chunks, chunk)
	}
	return chunks, nil
}

// logChunk sends one request. A refusal is compared with what the run holds: in the thick of a race equal parameters are refused too.
func (c *Client) logChunk(ctx context.Context, chunk batchWire) error {
	for try := 1; ; try++ {
		err := c.call(ctx, runsLogBatch, nil, chunk, nil)
		if err == nil || !maybeRepeated(err) {
			return err
		}
		if len(chunk.Params) == 0 {
			return c.logPieces(ctx, chunk, err)
		}
		run, readErr := c.GetRun(ctx, chunk.RunID)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		if taken := takenParam(run, chunk.Params); taken != nil {
			return &Error{Op: runsLogBatch.name, Kind: ErrParamTaken, Message: "refused", Err: taken}
		}
		if try == 3 {
			return c.logPieces(ctx, chunk, err)
		}
	}
}

// absorbed is how many metrics that are there already the oldest servers recognise in one request; of more they refuse all.
const absorbed = 100

// logPieces sends a refused request again in pieces of which every supported server recognises what it has.
func (c *Client) logPieces(ctx context.Context, chunk batchWire, refusal error) error {
	if len(chunk.Metrics) <= absorbed {
		return refusal
	}
	for metrics := range slices.Chunk(chunk.Metrics, absorbed) {
		if err := c.logChunk(ctx, batchWire{RunID: chunk.RunID, Metrics: metrics}); err != nil {
			return err
		}
	}
	return c.logChunk(ctx, batchWire{RunID: chunk.RunID, Params: chunk.Params, Tags: chunk.Tags})
}

// maybeRepeated tells whether the server may have refused what it holds already.
func maybeRepeated(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return false
	}
	return e.Code == "BAD_REQUEST" || strings.Contains(e.Message, "Changing param values")
}

func takenParam(run Run, params []Param) *ParamTaken {
	have := make(map[string]string, len(run.Data.Params))
	for _, p := range run.Data.Params {
		have[p.Key] = p.Value
	}
	for _, p := range params {
		if value, ok := have[p.Key]; ok && value != p.Value {
			return &ParamTaken{RunID: run.Info.RunID, Key: p.Key, Want: p.Value, Have: value, Run: run}
		}
	}
	return nil
}
