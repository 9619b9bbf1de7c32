package ofmsft

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/keys"
)

// attended is a client's part with its state in its vault.
func attended(t testing.TB) (*ClientPart, memory.Vault) {
	t.Helper()
	c, vault := trained(t, 5), memory.Vault{}
	part := &ClientPart{Name: "c", Params: c.params, Clients: 2, Vault: vault, seed: &secret}
	part.client, part.attendance.Row, part.attendance.Squared, part.right = c, 7, 0.5, 2
	mustDo(t, federated.Save(vault, federated.ClientSlot, part))
	return part, vault
}

// resume takes a client's part up where its vault has it.
func (a *ClientPart) resume() (*ClientPart, error) {
	return a, federated.Resume(context.Background(), a.Vault, federated.ClientSlot, a)
}

// resume takes a server's part up where its vault has it.
func (s *ServerPart) resume() (*ServerPart, error) {
	return s, federated.Resume(context.Background(), s.Vault, federated.ServerSlot, s)
}

// TestForgedAttendancesAreRefused seals states that no client's part writes.
func TestForgedAttendancesAreRefused(t *testing.T) {
	part, vault := attended(t)
	saved := vault[federated.ClientSlot]
	a, err := part.resume()
	mustDo(t, err)
	if a.attendance.Row != 7 || a.attendance.Squared != 0.5 || a.right != 2 || a.client.Rounds() != 5 {
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
		vault[federated.ClientSlot], err = checkpoint.Seal(attendanceDomain, s)
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
	s.service.Held = 3
	mustDo(t, federated.Save(s.Vault, federated.ServerSlot, s))
	return part, part.Vault.(memory.Vault)
}

// TestForgedServingsAreRefused seals states that no server's part writes.
func TestForgedServingsAreRefused(t *testing.T) {
	part, vault := served(t)
	saved := vault[federated.ServerSlot]
	s, err := part.resume()
	mustDo(t, err)
	if s.service.Held != 3 || s.server.Version(1) != 1 {
		t.Errorf("the part goes on after round %d, with %d steps", s.service.Held, s.server.Version(1))
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
		vault[federated.ServerSlot], err = checkpoint.Seal(servingDomain, s)
		mustDo(t, err)
		_, err := part.resume()
		wantError(t, err, bad.want)
	}
}

// FuzzAttendanceState repairs the checksum of any body: a part that takes it up keeps the same bytes.
func FuzzAttendanceState(f *testing.F) {
	part, vault := attended(f)
	f.Add(vault[federated.ClientSlot][:len(vault[federated.ClientSlot])-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(attendanceDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		vault := memory.Vault{federated.ClientSlot: data}
		a, err := (&ClientPart{Name: part.Name, Params: part.Params, Clients: 2, Vault: vault}).resume()
		if err != nil {
			return
		}
		mustDo(t, federated.Save(a.Vault, federated.ClientSlot, a))
		if !bytes.Equal(vault[federated.ClientSlot], data) {
			t.Fatal("it keeps other bytes")
		}
	})
}

// FuzzServingState is the same for servers.
func FuzzServingState(f *testing.F) {
	part, vault := served(f)
	f.Add(vault[federated.ServerSlot][:len(vault[federated.ServerSlot])-32])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := keys.HashOf(servingDomain, body)
		data := append(bytes.Clone(body), sum[:]...)
		vault := memory.Vault{federated.ServerSlot: data}
		s, err := (&ServerPart{Params: part.Params, Networks: part.Networks, Names: part.Names, Vault: vault}).resume()
		if err != nil {
			return
		}
		mustDo(t, federated.Save(s.Vault, federated.ServerSlot, s))
		if !bytes.Equal(vault[federated.ServerSlot], data) {
			t.Fatal("it keeps other bytes")
		}
	})
}
