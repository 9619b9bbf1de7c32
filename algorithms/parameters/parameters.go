// Package parameters is what the algorithms share in reading and checking a job's [parameters] table.
package parameters

import (
	"bytes"
	"fmt"
	"math"

	"github.com/BurntSushi/toml"
)

// Text renders a table that was read already.
func Text(table map[string]any) ([]byte, error) {
	var text bytes.Buffer
	err := toml.NewEncoder(&text).Encode(table)
	return text.Bytes(), err
}

// Written reports which keys stand in a table's text: a number that is written down is meant, also 0.
func Written(text []byte) (func(key ...string) bool, error) {
	meta, err := toml.Decode(string(text), new(map[string]any))
	return meta.IsDefined, err
}

// InRange refuses a number that is not in [1, most].
func InRange(name string, value, most int) error {
	if value < 1 || value > most {
		return fmt.Errorf("%s is %d, want 1 to %d", name, value, most)
	}
	return nil
}

// Positive refuses a number that is not positive and finite.
func Positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 0) {
		return fmt.Errorf("%s is %v, want a positive number", name, value)
	}
	return nil
}
