package mlflow

import (
	"fmt"
	"math"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the server, in characters (Unicode code points) where they are of text. The server cuts or swallows what exceeds some of them.
const (
	MaxKey             = 250 // of a tag's, parameter's or metric's name
	MaxTagValue        = 8000
	MaxParamValue      = 6000
	MaxRunName         = 250
	MaxExperimentName  = 500
	MaxExperimentValue = 5000 // of an experiment's tag
	MaxPageSize        = 50000

	maxMetricsPerBatch = 1000
	maxParamsPerBatch  = 100
	maxTagsPerBatch    = 100
	maxPerBatch        = 1000
	maxBatchBytes      = 1000000

	maxDatasetName    = 500
	maxDatasetDigest  = 36
	maxDatasetSource  = 65535
	maxDatasetSchema  = 1048575
	maxDatasetProfile = 16777215
	maxInputTagValue  = 500
	maxFileName       = 255 // bytes
	maxUpload         = 10 << 20
)

// checkText refuses what would be cut, and what JSON or a database can't hold.
func checkText(op, what, value string, limit int) error {
	if !utf8.ValidString(value) {
		return invalid(op, "%s is not valid UTF-8", what)
	}
	if strings.ContainsRune(value, 0) {
		return invalid(op, "%s holds a NUL character", what)
	}
	if n := utf8.RuneCountInString(value); n > limit {
		return invalid(op, "%s has %d characters, at most %d are stored", what, n, limit)
	}
	return nil
}

// checkKey holds the names of tags, parameters and metrics to what every supported server accepts.
func checkKey(op, what, key string) error {
	if err := checkText(op, what+" name "+quote(key), key, MaxKey); err != nil {
		return err
	}
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_-./: ", r) {
			return invalid(op, "%s name %s holds %q: only letters, digits and _ - . / : space are allowed", what, quote(key), r)
		}
	}
	if key == "" || key == "." || path.Clean(key) != key || strings.HasPrefix(key, "..") || strings.HasPrefix(key, "/") {
		return invalid(op, "%s name %s must be a clean relative path: not empty, no leading or trailing slash, no //, no . or .. part", what, quote(key))
	}
	return nil
}

func checkTags(op string, tags []Tag) error {
	seen := make(map[string]bool, len(tags))
	for _, t := range tags {
		if err := checkKey(op, "tag", t.Key); err != nil {
			return err
		}
		if seen[t.Key] {
			return invalid(op, "tag %s is given twice", quote(t.Key))
		}
		seen[t.Key] = true
		if err := checkText(op, "the value of tag "+quote(t.Key), t.Value, MaxTagValue); err != nil {
			return err
		}
	}
	return nil
}

func checkParams(op string, params []Param) error {
	seen := make(map[string]bool, len(params))
	for _, p := range params {
		if err := checkKey(op, "parameter", p.Key); err != nil {
			return err
		}
		if seen[p.Key] {
			return invalid(op, "parameter %s is given twice", quote(p.Key))
		}
		seen[p.Key] = true
		if err := checkText(op, "the value of parameter "+quote(p.Key), p.Value, MaxParamValue); err != nil {
			return err
		}
	}
	return nil
}

func checkMetrics(op string, metrics []Metric) error {
	for _, m := range metrics {
		if err := checkKey(op, "metric", m.Key); err != nil {
			return err
		}
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			return invalid(op, "metric %s is %v: only finite values are kept; leave it out and say why in a tag", quote(m.Key), m.Value)
		}
		if m.Timestamp <= 0 {
			return invalid(op, "metric %s has the time %d: milliseconds since 1970 are wanted", quote(m.Key), m.Timestamp)
		}
	}
	return nil
}

func checkExperimentTag(op string, t Tag) error {
	if err := checkKey(op, "experiment tag", t.Key); err != nil {
		return err
	}
	return checkText(op, "the value of experiment tag "+quote(t.Key), t.Value, MaxExperimentValue)
}

func checkStatus(op string, s RunStatus) error {
	switch s {
	case StatusRunning, StatusScheduled, StatusFinished, StatusFailed, StatusKilled:
		return nil
	}
	return invalid(op, "status %q is none of RUNNING, SCHEDULED, FINISHED, FAILED, KILLED", string(s))
}

// checkID keeps ids to what servers make: they become parts of addresses and filters.
func checkID(op, what, id string) error {
	if id == "" {
		return invalid(op, "%s is empty", what)
	}
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-", r)) {
			return invalid(op, "%s %s holds %q", what, quote(id), r)
		}
	}
	if len(id) > 256 {
		return invalid(op, "%s has %d characters, at most 256 are allowed", what, len(id))
	}
	return nil
}

// checkArtifactPath keeps artifact names to those that every server stores and returns unchanged.
func checkArtifactPath(op, p string) error {
	if p == "" || strings.HasPrefix(p, "/") || path.Clean(p) != p {
		return invalid(op, "artifact path %s must be a clean relative path", quote(p))
	}
	for _, part := range strings.Split(p, "/") {
		if part == "." || part == ".." {
			return invalid(op, "artifact path %s must be a clean relative path", quote(p))
		}
		if len(part) > maxFileName {
			return invalid(op, "artifact name %s has %d bytes, at most %d are allowed", quote(part), len(part), maxFileName)
		}
		for _, r := range part {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
				return invalid(op, "artifact path %s holds %q: only A-Z a-z 0-9 . _ - and / survive on every server", quote(p), r)
			}
		}
	}
	return nil
}

func quote(s string) string { return fmt.Sprintf("%q", clip(s, 80)) }
