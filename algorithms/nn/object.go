package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/internal/wording"
)

// maxMembers bounds a JSON object: two tensors for each layer, and the metadata.
const maxMembers = 2*MaxLayers + 1

// object is a JSON object whose members are taken one by one, so that what is left is unknown.
type object map[string]json.RawMessage

// parseObject reads a JSON object, refusing a repeated key and anything after the end.
func parseObject(data []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	o := object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, jsonError(err)
		}
		name, _ := key.(string)
		if _, twice := o[name]; twice {
			return nil, fmt.Errorf("key %q occurs twice", wording.Clip(name))
		}
		if len(o) == maxMembers {
			return nil, fmt.Errorf("it has more than %d keys", maxMembers)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, jsonError(err)
		}
		o[name] = value
	}
	return o, jsonEnd(d)
}

// jsonEnd checks that a closing brace comes next, and then nothing.
func jsonEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return jsonError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// jsonError words what the decoder says.
func jsonError(err error) error { return fmt.Errorf("malformed JSON: %.80q", err.Error()) }

// pop removes a member and returns it.
func (o object) pop(key string) (json.RawMessage, error) {
	value, ok := o[key]
	if !ok {
		return nil, fmt.Errorf("key %q is missing", key)
	}
	delete(o, key)
	return value, nil
}

// text takes a member that is a string.
func (o object) text(key string) (string, error) {
	value, err := o.pop(key)
	if err != nil {
		return "", err
	}
	var s *string
	if err := json.Unmarshal(value, &s); err != nil || s == nil {
		return "", fmt.Errorf("key %q is %q: want a string", key, wording.Clip(string(value)))
	}
	return *s, nil
}

// integers takes a member that is a list of whole numbers from 0, of one of these lengths.
func (o object) integers(key string, lengths ...int) ([]int, error) {
	value, err := o.pop(key)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || !slices.Contains(lengths, len(list)) {
		return nil, fmt.Errorf("key %q is %q: want a list of %v whole numbers", key, wording.Clip(string(value)), lengths)
	}
	numbers := make([]int, len(list))
	for i, raw := range list {
		n, err := strconv.ParseUint(string(raw), 10, 31)
		if err != nil {
			return nil, fmt.Errorf("key %q holds %q: want a whole number from 0", key, wording.Clip(string(raw)))
		}
		numbers[i] = int(n)
	}
	return numbers, nil
}

// pair takes a member that is two whole numbers.
func (o object) pair(key string) (pair [2]int, err error) {
	list, err := o.integers(key, 2)
	copy(pair[:], list)
	return pair, err
}

// empty checks that every member was taken.
func (o object) empty() error {
	if len(o) == 0 {
		return nil
	}
	left := make([]string, 0, len(o))
	for key := range o {
		left = append(left, key)
	}
	return fmt.Errorf("key %q is unknown", wording.Clip(slices.Min(left)))
}
