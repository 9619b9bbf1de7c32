package gfml

import (
	"bytes"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// FuzzAttendanceState: what is taken up has the same bytes when it is saved.
func FuzzAttendanceState(f *testing.F) {
	p := plan(f, func(*Params) {})
	part := &ClientPart{Plan: p, Privacy: "masked", Least: 3, Vault: memory.Vault{}}
	must(f, part.begin())
	part.next, part.attendance.Row, part.learned, part.attendance.Squared = 7, 9, 6, 0.5
	saved, err := part.State()
	must(f, err)
	f.Add(saved)
	f.Fuzz(func(t *testing.T, data []byte) {
		vault := memory.Vault{federated.ClientSlot: data}
		a := &ClientPart{Plan: p, Privacy: "masked", Least: 3, Vault: vault}
		must(t, a.begin())
		if federated.Resume(t.Context(), vault, federated.ClientSlot, a) != nil {
			return
		}
		must(t, federated.Save(vault, federated.ClientSlot, a))
		if !bytes.Equal(vault[federated.ClientSlot], data) {
			t.Fatal("other bytes")
		}
	})
}
