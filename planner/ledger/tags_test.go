package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/benchbatch/benchbatch/mlflow"
	"github.com/benchbatch/benchbatch/planner/batch"
)

// identity is a cell's identity that differs with its words.
func identity(agent, model, recipe string) batch.Identity {
	sum := func(s string) batch.Digest { return batch.Sum([]byte(s)) }
	return batch.NewIdentity(sum(agent), sum(model), batch.NoBrain, sum("execution "+recipe), sum("scoring "+recipe))
}

func cellOf(agent, model, recipe string) batch.Cell {
	return batch.Cell{Variant: batch.Variant{Agent: agent, Model: model}, Identity: identity(agent, model, recipe)}
}

// tagged is a run with the tags of a cell, changed as told ("" = left out).
func tagged(c batch.Cell, changed map[string]string) mlflow.Run {
	var r mlflow.Run
	tags := append(IdentityTags(c), mlflow.Tag{Key: TagEvaluation, Value: "7d2f3c1e-0000-4000-8000-000000000001"})
	for key, v := range changed {
		tags = append(tags, mlflow.Tag{Key: key, Value: v})
	}
	for i, t := range tags {
		if v, ok := changed[t.Key]; ok {
			tags[i].Value = v
		}
	}
	r.Data.Tags = tags
	r.Info.Status, r.Info.LifecycleStage = mlflow.StatusFinished, mlflow.StageActive
	return r
}

func TestIdentityTagsAreReadBack(t *testing.T) {
	c := cellOf("quick", "m-one", "a")
	id, err := readIdentity(tagged(c, nil))
	require.NoError(t, err)
	assert.Equal(t, c.Identity, id)
	for _, tag := range IdentityTags(c) {
		if tag.Key != TagIdentity {
			assert.LessOrEqual(t, len(tag.Value), 16, "a longer value hides the key in the UI")
		}
	}
}

// Every identity tag is required, and every one is compared with the full identity.
func TestEveryIdentityTagCounts(t *testing.T) {
	c := cellOf("quick", "m-one", "a")
	other, err := batch.Canonical(identity("quick", "m-two", "a"))
	require.NoError(t, err)
	for _, key := range required {
		_, err := readIdentity(tagged(c, map[string]string{key: ""}))
		assert.EqualError(t, err, "tag "+key+" is missing")
		if key == TagEvaluation {
			continue
		}
		_, err = readIdentity(tagged(c, map[string]string{key: "0123456789abcdef"}))
		assert.Error(t, err, key)
	}
	_, err = readIdentity(tagged(c, map[string]string{TagIdentity: string(other)}))
	assert.ErrorContains(t, err, "tag "+TagCell+" is ")
	for _, scheme := range []string{"0", "2", "1.0", "01"} {
		_, err = readIdentity(tagged(c, map[string]string{TagScheme: scheme}))
		assert.EqualError(t, err, "recorded under identity scheme "+scheme+", not 1")
	}
}

// A chance agreement of the short digests is told by the full ones.
func TestShortDigestsThatAgreeByChance(t *testing.T) {
	c := cellOf("quick", "m-one", "a")
	_, err := entryOf(tagged(c, nil), c.Identity.Recipe[:16]+batch.Digest(strings.Repeat("0", 48)))
	assert.ErrorContains(t, err, "agree by chance only")
}

// What our own runs say of themselves is trusted only where it agrees with itself.
func TestOwnRunsAgreeWithThemselves(t *testing.T) {
	c := cellOf("quick", "m-one", "a")
	d := batch.Sum([]byte("record"))
	list, err := json.Marshal([]batch.Artifact{{Path: batch.FileOutcomes, Digest: d, Size: 6}})
	require.NoError(t, err)
	own := map[string]string{TagState: "complete", TagOutcomes: string(d), TagArtifacts: string(list), TagSlot: "2", TagBatch: "p", TagContinues: "one two"}
	e, err := entryOf(tagged(c, own), c.Identity.Recipe)
	require.NoError(t, err)
	assert.False(t, e.Foreign)
	assert.Equal(t, 2, e.Slot)
	assert.Equal(t, []string{"one", "two"}, e.Continues)
	assert.Equal(t, []batch.Artifact{{Path: batch.FileOutcomes, Digest: d, Size: 6}}, e.Artifacts)
	for key, wrong := range map[string]string{TagOutcomes: string(batch.Sum([]byte("other"))), TagArtifacts: "[]"} {
		changed := map[string]string{}
		for k, v := range own {
			changed[k] = v
		}
		changed[key] = wrong
		_, err = entryOf(tagged(c, changed), c.Identity.Recipe)
		assert.ErrorContains(t, err, "do not agree on outcomes.jsonl", key)
	}
	own[TagSlot] = "second"
	e, err = entryOf(tagged(c, own), c.Identity.Recipe)
	require.NoError(t, err)
	assert.Zero(t, e.Slot, "it takes any slot")
}
