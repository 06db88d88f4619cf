package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
	"github.com/benchbatch/benchbatch/planner/outcome"
)

// maxRecord is the largest outcomes.jsonl that is read into memory, in bytes.
const maxRecord = 1 << 30

func readRecord(b []byte, p outcome.TimeoutPolicy) ([]outcome.Outcome, error) {
	return outcome.Read(bytes.NewReader(b), p)
}

// artifactsTag is the value of TagArtifacts: path → [digest, size].
func artifactsTag(list []batch.Artifact) (string, error) {
	b, err := json.Marshal(list)
	return string(b), err
}

// readArtifacts reads the frozen artifacts of one of our own runs.
func readArtifacts(r mlflow.Run) ([]batch.Artifact, error) {
	var list []batch.Artifact
	if err := json.Unmarshal([]byte(r.Tag(TagArtifacts)), &list); err != nil {
		return nil, fmt.Errorf("tag %s is not a list of artifacts: %w", TagArtifacts, err)
	}
	for _, a := range list {
		if a.Path == batch.FileOutcomes && string(a.Digest) == r.Tag(TagOutcomes) {
			return list, nil
		}
	}
	return nil, fmt.Errorf("tags %s and %s do not agree on %s", TagArtifacts, TagOutcomes, batch.FileOutcomes)
}
