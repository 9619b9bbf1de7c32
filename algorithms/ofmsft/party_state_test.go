package ofmsft

import (
	"bytes"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/keys"
)

// attended is a client's part with its state in its vault.
func attended(t testing.TB) (*ClientPart, memory.Vault) {
	t.Helper()
	c, vault := trained(t, 5), memory.Vault{}
	part := &ClientPart{Name: "c", Params: c.params, Clients: 2, Vault: vault, seed: &secret}
	mustDo(t, (&clientRun{ClientPart: part, client: c, row: 7, squared: 0.5, right: 2}).save())
	return part, vault
}

// TestForgedAttendancesAreRefused seals states that no client's part writes.
func TestForgedAttendancesAreRefused(t *testing.T) {
	part, vault := attended(t)
	saved := vault[clientSlot]
	a, err := part.resume()
	mustDo(t, err)
	if a.row != 7 || a.squared != 0.5 || a.right != 2 || a.client.Rounds() != 5 {
		t.Errorf("the part goes on with %+v", a)
	}
	for _, bad := range []struct {
		edit func(*attendanceState)
		want string
	}{
		{func(s *attendanceState) { s.Version = 2 }, "version is 2, this program reads version 1"},
		{func(s *attendanceState) { s.Row = 4 }, "state: row 4 and 2 right of 5, squared errors 0.5: want a row from " +
			"there on, no more right, and a number from 0 on"},
		{func(s *attendanceState) { s.Right = 6 }, "6 right of 5"},
		{func(s *attendanceState) { s.Right = -1 }, "-1 right of 5"},
		{func(s *attendanceState) { s.Squared = -1 }, "squared errors -1"},
		{func(s *attendanceState) { s.Squared = math.NaN() }, "squared errors NaN"},
		{func(s *attendanceState) { s.Squared = math.Inf(1) }, "squared errors +Inf"},
		{func(s *attendanceState) { s.Client = s.Client[1:] }, "its checksum is not the one of its bytes"},
		{func(s *attendanceState) { s.Client = nil }, "state of 0 bytes, want at least 32"},
	} {
		s := new(attendanceState)
		mustDo(t, unseal(attendanceDomain, saved, s))
		bad.edit(s)
		vault[clientSlot], err = checkpoint.Seal(attendanceDomain, s)
		mustDo(t, err)
		_, err := part.resume()
		wantError(t, err, bad.want)
	}
}

// served is a server's part with its state in its vault.
func served(t testing.TB) (*ServerPart, memory.Vault) {
	t.Helper()
	p, networks := small(t, 3, 0, 2, nil)
	part := &ServerPart{Params: p, Networks: networks, Names: []string{"a", "b"}, Vault: memory.Vault{}, seed: &secret}
	s, err := part.resume()
	mustDo(t, err)
	mustDo(t, s.server.Apply(1, make([]float64, networks[1].Size()), 2))
	s.round = 3
	mustDo(t, s.save())
	return part, part.Vault.(memory.Vault)
}

// TestForgedServingsAreRefused seals states that no server's part writes.
func TestForgedServingsAreRefused(t *testing.T) {
	part, vault := served(t)
	saved := vault[serverSlot]
	s, err := part.resume()
	mustDo(t, err)
	if s.round != 3 || s.server.Version(1) != 1 {
		t.Errorf("the part goes on after round %d, with %d steps", s.round, s.server.Version(1))
	}
	for _, bad := range []struct {
		edit func(*servingState)
		want string
	}{
		{func(s *servingState) { s.Version = 0 }, "version is 0, this program reads version 1"},
		{func(s *servingState) { s.Round = 61 }, "61 rounds were held, want 0 to 60"},
		{func(s *servingState) { s.Server[40] ^= 1 }, "its checksum is not the one of its bytes"},
	} {
		s := new(servingState)
		mustDo(t, unseal(servingDomain, saved, s))
		bad.edit(s)
		vault[serverSlot], err = checkpoint.Seal(servingDomain, s)
		mustDo(t, err)
		_, err := part.resume()
		wantError(t, err, bad.want)
	}
}

// FuzzAttendanceState repairs the checksum of any body: a part that takes it up keeps the same bytes.
func FuzzAttendanceState(f *testing.F) {
	part, vault := attended(f)
	f.Add(vault[clientSlot][:len(vault[clientSlot])-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(attendanceDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		vault := memory.Vault{clientSlot: data}
		a, err := (&ClientPart{Name: part.Name, Params: part.Params, Clients: 2, Vault: vault}).resume()
		if err != nil {
			return
		}
		mustDo(t, a.save())
		if !bytes.Equal(vault[clientSlot], data) {
			t.Fatal("it keeps other bytes")
		}
	})
}

// FuzzServingState is the same for servers.
func FuzzServingState(f *testing.F) {
	part, vault := served(f)
	f.Add(vault[serverSlot][:len(vault[serverSlot])-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(servingDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		vault := memory.Vault{serverSlot: data}
		s, err := (&ServerPart{Params: part.Params, Networks: part.Networks, Names: part.Names, Vault: vault}).resume()
		if err != nil {
			return
		}
		mustDo(t, s.save())
		if !bytes.Equal(vault[serverSlot], data) {
			t.Fatal("it keeps other bytes")
		}
	})
}
