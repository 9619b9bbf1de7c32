package gfml

import (
	"bytes"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// FuzzAttendanceState: what is taken up has the same bytes when it is saved.
func FuzzAttendanceState(f *testing.F) {
	p := plan(f, func(*Params) {})
	part := &ClientPart{Plan: p, Privacy: "masked", Least: 3, Vault: memory.Vault{}}
	a, err := part.resume()
	must(f, err)
	a.next, a.row, a.learned, a.squared = 7, 9, 6, 0.5
	must(f, a.save())
	f.Add(part.Vault.(memory.Vault)[clientSlot])
	f.Fuzz(func(t *testing.T, data []byte) {
		vault := memory.Vault{clientSlot: data}
		a, err := (&ClientPart{Plan: p, Privacy: "masked", Least: 3, Vault: vault}).resume()
		if err != nil {
			return
		}
		must(t, a.save())
		if !bytes.Equal(vault[clientSlot], data) {
			t.Fatal("other bytes")
		}
	})
}
