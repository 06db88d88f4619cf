package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// Tags of the public contract. Hashes are the first 16 hex digits; TagIdentity
// confirms them with all full digests.
const (
	TagKind       = "benchbatch.kind" // one of the values below
	TagScheme     = "benchbatch.scheme"
	TagRecipe     = "benchbatch.recipe"
	TagCell       = "benchbatch.cell"
	TagAgentHash  = "benchbatch.agent_hash"
	TagModelHash  = "benchbatch.model_hash"
	TagBrainHash  = "benchbatch.brain_hash"
	TagExecution  = "benchbatch.execution"
	TagIdentity   = "benchbatch.identity"
	TagEvaluation = "benchbatch.evaluation" // a UUID
	TagOutcomes   = "benchbatch.outcomes"   // full SHA-256 of outcomes.jsonl
	TagState      = "benchbatch.state"
	TagReason     = "benchbatch.reason"     // why the state is not complete
	TagBatch      = "benchbatch.batch"      // parent run id
	TagSlot       = "benchbatch.slot"       // 1..repeats
	TagGeneration = "benchbatch.generation" // of the claim under which it was started: see package claim
	TagLauncher   = "benchbatch.launcher"   // host, process id and its start time
	TagContinues  = "benchbatch.continues"  // run ids of evaluations that were cut short, whose finished tasks are in this one
	TagArtifacts  = "benchbatch.artifacts"  // digests and sizes of all artifacts, as JSON

	TagBenchmark = "benchbatch.benchmark"
	TagVersion   = "benchbatch.version"
	TagAgent     = "benchbatch.agent"
	TagModel     = "benchbatch.model"
	TagBrain     = "benchbatch.brain"
	TagRole      = "benchbatch.role" // selection: the run served to choose the brain or a setting; calibration: of a slice

	TagKey      = "benchbatch.key"      // batch key, on a parent
	TagSeed     = "benchbatch.seed"     // order of starts, on a parent
	TagPlan     = "benchbatch.plan"     // digest of plan.json, on a parent
	TagResult   = "benchbatch.result"   // digest of result.json, on a frozen parent
	TagDecision = "benchbatch.decision" // digest of the decision, on a parent
	TagStanding = "benchbatch.standing" // what bounds the batch and which models are left out, as JSON, on a parent
	TagStop     = "benchbatch.stop"     // who asked its launchers to start nothing new, on a parent; "" = nobody
	TagNote     = "benchbatch.note"     // digest of the note that we wrote last, on a parent: another one is a person's
	TagManifest = "benchbatch.manifest" // digest of the manifest.json of the dated folder whose report the parent shows

	TagLedger = "benchbatch.ledger" // on a ledger run what it is the ledger of, on a lock the ledger run: see package claim
)

// Values of TagKind.
const (
	KindBatch      = "batch"
	KindEvaluation = "evaluation"
	KindLedger     = "ledger"
	KindLock       = "lock" // of an experiment
)

const (
	tagParent  = "mlflow.parentRunId"
	tagUser    = "mlflow.user"
	tagNote    = "mlflow.note.content"
	draftLabel = "draft"
)

// paramResult is the parameter of a frozen parent that holds the digest of
// result.json. MLflow writes a parameter once: of two launchers that finish
// together, the one whose digest stands there has frozen the batch.
const paramResult = "result"

// required are the tags without which a run never counts.
var required = []string{TagKind, TagScheme, TagRecipe, TagCell, TagAgentHash, TagModelHash, TagBrainHash, TagExecution, TagIdentity, TagEvaluation}

// IdentityTags are the tags of a cell's identity: what a run made elsewhere must
// carry to count, together with TagEvaluation (a UUID of its own).
func IdentityTags(c batch.Cell) []mlflow.Tag {
	id := c.Identity
	full, err := batch.Canonical(id)
	if err != nil {
		panic("ledger: " + err.Error()) // strings and an integer always marshal
	}
	return []mlflow.Tag{
		{Key: TagKind, Value: KindEvaluation},
		{Key: TagScheme, Value: fmt.Sprint(id.Scheme)},
		{Key: TagRecipe, Value: id.Recipe.Short()},
		{Key: TagCell, Value: id.Cell.Short()},
		{Key: TagAgentHash, Value: id.Agent.Short()},
		{Key: TagModelHash, Value: id.Model.Short()},
		{Key: TagBrainHash, Value: id.Brain.Short()},
		{Key: TagExecution, Value: id.Execution.Short()},
		{Key: TagIdentity, Value: string(full)},
	}
}

// readIdentity checks a run's identity tags against each other.
func readIdentity(r mlflow.Run) (batch.Identity, error) {
	var id batch.Identity
	for _, key := range required {
		if r.Tag(key) == "" {
			return id, fmt.Errorf("tag %s is missing", key)
		}
	}
	if r.Tag(TagKind) != KindEvaluation {
		return id, fmt.Errorf("tag %s is %q, not %q", TagKind, r.Tag(TagKind), KindEvaluation)
	}
	if got := r.Tag(TagScheme); got != fmt.Sprint(batch.Scheme) {
		return id, fmt.Errorf("recorded under identity scheme %s, not %d", got, batch.Scheme)
	}
	if err := json.Unmarshal([]byte(r.Tag(TagIdentity)), &id); err != nil {
		return id, fmt.Errorf("tag %s is not the JSON that `benchbatch hash` prints: %w", TagIdentity, err)
	}
	for _, d := range []*batch.Digest{&id.Agent, &id.Model, &id.Brain, &id.Execution, &id.Scoring, &id.Recipe, &id.Cell} {
		*d = once(*d)
	}
	if !id.Consistent() {
		return id, fmt.Errorf("tag %s: recipe and cell do not follow from the parts", TagIdentity)
	}
	for _, t := range IdentityTags(batch.Cell{Identity: id}) {
		if t.Key != TagIdentity && r.Tag(t.Key) != t.Value {
			return id, fmt.Errorf("tag %s is %s, but %s says %s", t.Key, r.Tag(t.Key), TagIdentity, t.Value)
		}
	}
	return id, nil
}
