package contract

import (
	"bytes"

	"github.com/BurntSushi/toml"
)

// SetParameters puts an algorithm's parameters, a struct with toml tags, into the job as its file would have them.
func (j *Job) SetParameters(parameters any) error {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(parameters); err != nil {
		return err
	}
	j.Parameters = nil
	_, err := toml.Decode(text.String(), &j.Parameters)
	return err
}
