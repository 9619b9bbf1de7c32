// Package parameters is what the algorithms share in reading and checking a job's [parameters] table.
package parameters

import (
	"bytes"
	"maps"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/keys"
)

// Steps is how an algorithm reads its parameters, P.
type Steps[P any] struct {
	Start    P                                                 // what stands where the text says nothing
	Written  func(p P, written func(key ...string) bool) error // checks what the text says; nil: nothing to check
	Complete func(P) P                                         // fills in the defaults
	Validate func(P) error
}

// Parse reads a job's [parameters] table strictly, fills in the defaults and validates. A number that is
// written down is meant, also 0: Written is asked before a default takes its place. After an error the
// parameters are the zero value.
func Parse[P any](text []byte, s Steps[P]) (P, error) {
	var none P
	p := s.Start
	if err := keys.DecodeStrict("parameters", text, &p); err != nil {
		return none, err
	}
	if s.Written != nil {
		written, err := keysIn(text)
		if err != nil {
			return none, err
		}
		if err := s.Written(p, written); err != nil {
			return none, err
		}
	}
	p = s.Complete(p)
	if err := s.Validate(p); err != nil {
		return none, err
	}
	return p, nil
}

// keysIn reports which keys stand in a table's text.
func keysIn(text []byte) (func(key ...string) bool, error) {
	meta, err := toml.Decode(string(text), new(map[string]any))
	return meta.IsDefined, err
}

// Of parses a table that was read already, for a job among the named parties.
func Of[P any](table map[string]any, parties []string, parse func(text []byte, parties []string) (P, error)) (P,
	error) {
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(table); err != nil {
		var none P
		return none, err
	}
	p, err := parse(text.Bytes(), parties)
	return p, keys.InTable(text.Bytes(), err)
}

// With returns a table of parameters with values of the node's own, whatever a job's text says of them.
func With(table, own map[string]any) map[string]any {
	all := make(map[string]any)
	maps.Copy(all, table)
	maps.Copy(all, own)
	return all
}
