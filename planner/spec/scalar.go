package spec

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var dayPattern = regexp.MustCompile(`^(\d{1,5})d(.*)$`)

// parseDuration reads 90s, 10m, 1h30m, 30d or 1d12h.
func parseDuration(s string) (time.Duration, error) {
	var days time.Duration
	rest := s
	if m := dayPattern.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 36500 {
			return 0, fmt.Errorf("more than 36500 days")
		}
		days, rest = time.Duration(n)*24*time.Hour, m[2]
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil:
		return 0, fmt.Errorf("not a duration")
	case d < 0:
		return 0, fmt.Errorf("negative")
	case days+d < 0:
		return 0, fmt.Errorf("too long")
	}
	return days + d, nil
}

var sizePattern = regexp.MustCompile(`^(\d+(?:\.\d+)?)([A-Za-z]*)$`)

var sizeUnits = map[string]float64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// parseSize reads 4GiB, 512MiB or 1.5GB as bytes.
func parseSize(s string) (int64, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("not a size")
	}
	unit, ok := sizeUnits[m[2]]
	if !ok {
		return 0, fmt.Errorf("unknown unit %s", m[2])
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v*unit > 1<<53 {
		return 0, fmt.Errorf("too large")
	}
	return int64(math.Round(v * unit)), nil
}

// parseShare reads 5% or 0.05.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := parseFloat(number)
	if err != nil {
		return 0, fmt.Errorf("neither a share such as 0.05 nor a percentage such as 5%%")
	}
	if percent {
		// Shift the decimal point in the text: 5% is 0.05 exactly as written.
		return strconv.ParseFloat(number+"e-2", 64)
	}
	return v, nil
}

var (
	floatPattern = regexp.MustCompile(`^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,4})?$`)
	intPattern   = regexp.MustCompile(`^[-+]?(0|[1-9]\d*)$`)
)

// parseFloat reads a finite decimal number.
func parseFloat(s string) (float64, error) {
	if !floatPattern.MatchString(s) {
		return 0, fmt.Errorf("not a number")
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("too large")
	}
	return v, nil
}

// maxExact is the largest integer that every JSON reader keeps exactly.
const maxExact = 1 << 53

// parseInt reads a decimal whole number; 010 and 1_000 are read differently by
// different YAML readers and are refused.
func parseInt(s string) (int64, error) {
	if !intPattern.MatchString(s) {
		return 0, fmt.Errorf("not a plain whole number")
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v > maxExact || v < -maxExact {
		return 0, fmt.Errorf("beyond 2^53, where readers lose digits")
	}
	return v, nil
}
