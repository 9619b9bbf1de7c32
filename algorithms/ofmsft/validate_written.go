package ofmsft

import (
	"fmt"

	"github.com/BurntSushi/toml"
)

// validateWrittenModels refuses costs and bandwidths of 0 that a job's text holds.
func validateWrittenModels(text []byte) error {
	var tables struct {
		Models []map[string]any `toml:"models"`
	}
	if _, err := toml.Decode(string(text), &tables); err != nil {
		return err
	}
	for k, table := range tables.Models {
		for _, key := range []string{"cost", "bandwidth"} {
			switch v := table[key].(type) {
			case int64:
				if v == 0 {
					return fmt.Errorf("%s of model %d is 0, want a positive number", key, k+1)
				}
			case float64:
				if v == 0 {
					return fmt.Errorf("%s of model %d is 0, want a positive number", key, k+1)
				}
			}
		}
	}
	return nil
}
