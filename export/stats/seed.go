package stats

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Method is the version of the drawing methods; it is part of every seed, and
// stands in the report beside the number of draws.
const Method = "stats-v1"

// Draws is how many resamples are drawn where resampling is used.
const Draws = 9999

// drawBlock is how many draws share one stream. Streams belong to blocks, never
// to workers, so that any number of cores gives the same results.
const drawBlock = 500

// Key is the seed of one use of chance: SHA-256 of
// "stats-v1|batch digest|metric|purpose".
type Key [32]byte

// NewKey makes the seed of one purpose for one metric of one batch.
func NewKey(batch, metric, purpose string) Key {
	return sha256.Sum256([]byte(Method + "|" + batch + "|" + metric + "|" + purpose))
}

// stream is the stream of one block: ChaCha8 keyed with SHA-256(key, block).
func (k Key) stream(block int) *rand.ChaCha8 {
	var b [40]byte
	copy(b[:], k[:])
	binary.LittleEndian.PutUint64(b[32:], uint64(block))
	return rand.NewChaCha8(sha256.Sum256(b[:]))
}

// digest is SHA-256 over the metric and the ids of variants and tasks, in order.
func (d *Data) digest() string {
	h := sha256.New()
	fmt.Fprintln(h, d.metric)
	for i := range d.variants {
		fmt.Fprintln(h, "variant", d.variants[i].id)
	}
	for i := range d.tasks {
		fmt.Fprintln(h, "task", d.tasks[i].ID)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// key seeds a drawing, so that the same batch draws the same wherever it is rendered.
func (d *Data) key(purpose string) Key { return NewKey(d.seed, metricNames[d.metric], purpose) }
