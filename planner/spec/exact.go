package spec

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// inexact returns the first number in a JSON value that canonical JSON could
// not keep digit by digit, or "". Two inputs that differ only there would have
// one digest.
func inexact(v jsontext.Value) string {
	if !bytes.ContainsAny(v, "0123456789") {
		return ""
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		if token.Kind() == '0' && !keepsDigits(token.String()) {
			return token.String()
		}
	}
}

// keepsDigits says whether a decimal number survives as the shortest text of
// the nearest double.
func keepsDigits(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	digits, exponent := decimal(number)
	gotDigits, gotExponent := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return digits == gotDigits && (digits == "" || exponent == gotExponent)
}

// decimal splits a number into its significant digits and the power of ten of
// the last of them; zero has no digits.
func decimal(number string) (string, int) {
	number = strings.TrimPrefix(strings.ToLower(number), "-")
	mantissa, power, _ := strings.Cut(number, "e")
	exponent, _ := strconv.Atoi(power)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	return trimmed, exponent + len(digits) - len(trimmed)
}
