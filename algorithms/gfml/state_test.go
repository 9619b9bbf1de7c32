package gfml

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestARestoredRunIsTheSame: saved and restored in the middle, a run ends in the same bits.
func TestARestoredRunIsTheSame(t *testing.T) {
	p := plan(t, func(p *Params) { p.Entries, p.Selection = 5, Uncoordinated })
	st := newStreams(t, p, 130, 0.1, 9)
	straight, before, after := federation(t, p, p.NewServer), federation(t, p, p.NewServer), federation(t, p, p.NewServer)
	st.run(t, straight)
	for n := range 61 {
		must(t, before.Step(n, st.round(n)))
	}
	for s := range p.Servers() {
		data, err := before.Servers[s].Save(61)
		must(t, err)
		if next, err := after.Servers[s].Restore(data); err != nil || next != 61 {
			t.Fatalf("error %v, iteration %d", err, next)
		}
		for k := range p.Clients(s) {
			data, err := before.Clients[s][k].Save(61)
			must(t, err)
			if next, err := after.Clients[s][k].Restore(data); err != nil || next != 61 {
				t.Fatalf("error %v, iteration %d", err, next)
			}
		}
	}
	for n := 61; n < len(st.z); n++ {
		must(t, after.Step(n, st.round(n)))
	}
	for s := range p.Servers() {
		wantNear(t, "w", after.Servers[s].Model(), straight.Servers[s].Model(), 0)
		for k, c := range after.Clients[s] {
			if c.watch != straight.Clients[s][k].watch {
				t.Errorf("the watch of client %d is %+v, want %+v", k, c.watch, straight.Clients[s][k].watch)
			}
		}
	}
}

// TestStatesOfOthersAreRefused, by text, and leave the party as it was.
func TestStatesOfOthersAreRefused(t *testing.T) {
	p, other := plan(t, func(*Params) {}), plan(t, func(p *Params) { p.Step = 0.5 })
	s, c := parts(t, p)
	who := c.name() + ": saved state: "
	good := func() *state {
		return &state{Params: p.digest, Server: 0, Client: c.client, Iteration: 3, Model: make([]float64, 12)}
	}
	for _, bad := range []struct {
		change func(*state)
		want   string
	}{
		{func(st *state) { st.Params = other.digest }, fmt.Sprintf("it is of a job with other parameters, %s, want %s",
			other.digest.Short(), p.digest.Short())},
		{func(st *state) { st.Client = serverItself }, fmt.Sprintf("it is of server 0, client -1, want server 0, client %d",
			c.client)},
		{func(st *state) { st.Iteration = 401 }, "its iteration is 401, want 0 to 400"},
		{func(st *state) { st.Iteration = -1 }, "its iteration is -1, want 0 to 400"},
		{func(st *state) { st.Model = st.Model[1:] }, "its model has 11 weights, want 12"},
		{func(st *state) { st.Model[4] = inf() }, "weight 4 is +Inf, want a finite number"},
		{func(st *state) { st.Watch.Rows = 50 }, "the watch has counts 50 and 0, want 0 to 49 and none below 0"},
		{func(st *state) { st.Watch.Last = -1 }, "the watch holds -1, want numbers from 0 on"},
	} {
		st := good()
		bad.change(st)
		data, err := encodeState(st)
		must(t, err)
		_, err = c.Restore(data)
		wantError(t, err, who+bad.want)
	}
	data, err := encodeState(good())
	must(t, err)
	_, err = s.Restore(data)
	wantError(t, err, fmt.Sprintf(`server "a": saved state: it is of server 0, client %d, want server 0, client -1`, c.client))
	_, err = c.Restore(bytes.Replace(data, []byte{1, stateVersion, 2}, []byte{1, 9, 2}, 1))
	wantError(t, err, who+"version is 9, want 1")
	_, err = c.Restore(make([]byte, 1000))
	wantError(t, err, who+"1000 bytes, want at most 620")
	for n := range data {
		if _, err := c.Restore(data[:n]); err == nil || !strings.HasPrefix(err.Error(), who) {
			t.Fatalf("cut to %d bytes: error %v", n, err)
		}
	}
}

// FuzzRestore: whatever is restored is saved as the same bytes.
func FuzzRestore(f *testing.F) {
	p := plan(f, func(*Params) {})
	s, c := parts(f, p)
	c.w[3], c.watch = 0.1, watch{Rows: 7, Errors: 1.5, Power: 2, Last: 0.25, Rises: 1}
	one, err := c.Save(7)
	must(f, err)
	two, err := s.Save(400)
	must(f, err)
	f.Add(one)
	f.Add(two)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, c := parts(t, p)
		if next, err := c.Restore(data); err == nil {
			again, err := c.Save(next)
			if err != nil || !bytes.Equal(again, data) {
				t.Fatalf("error %v, other bytes", err)
			}
		}
		s, _ := parts(t, p)
		if next, err := s.Restore(data); err == nil {
			again, err := s.Save(next)
			if err != nil || !bytes.Equal(again, data) {
				t.Fatalf("error %v, other bytes", err)
			}
		}
	})
}

// TestStatesAreTheseBytes pins the encoding of version 1.
func TestStatesAreTheseBytes(t *testing.T) {
	p := plan(t, func(p *Params) { p.Features = 2 })
	_, c := parts(t, p)
	c.w[0], c.w[1], c.watch = 0.5, -1e-9, watch{Rows: 1, Errors: 2, Power: 3, Last: 4, Rises: 2}
	data, err := c.Save(300)
	must(t, err)
	want := []byte{0xa7, // a map of seven
		1, 1, // version
		2, 0x58, 32} // digest of the parameters
	want = append(want, p.digest[:]...)
	want = append(want,
		3, 0, // server
		4, byte(c.client), // client
		5, 0x19, 1, 44, // iteration 300
		6, 0x82, 0xf9, 0x38, 0, // weights: 0.5 in 16 bits
		0xfb, 0xbe, 0x11, 0x2e, 0x0b, 0xe8, 0x26, 0xd6, 0x95, // -1e-9 in 64
		7, 0xa5, 1, 1, 2, 0xf9, 0x40, 0, 3, 0xf9, 0x42, 0, 4, 0xf9, 0x44, 0, 5, 2) // the watch
	if !bytes.Equal(data, want) {
		t.Errorf("state is\n%x, want\n%x", data, want)
	}
}
