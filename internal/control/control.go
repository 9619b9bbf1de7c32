// Package control encodes the requests and responses of control calls: CBOR in which unknown and
// repeated fields are refused.
package control

import (
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// ErrMalformed is inside the error of a message that cannot be read.
var ErrMalformed = errors.New("malformed message")

// Answer decodes a request, strictly, and encodes what serve responds.
func Answer[Request, Response any](data []byte, serve func(Request) (Response, error)) ([]byte, error) {
	var r Request
	if err := Decode(data, &r); err != nil {
		return nil, err
	}
	response, err := serve(r)
	if err != nil {
		return nil, err
	}
	return cbor.Marshal(response)
}

// Decode reads CBOR with no unknown and no repeated fields.
func Decode(data []byte, v any) error {
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err != nil {
		return err
	}
	if err := mode.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}
