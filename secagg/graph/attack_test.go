package graph

import (
	"encoding/binary"
	"math"
	"testing"
)

// coins is how many graphs each row of the count draws.
const coins = 200

// TestAServerWithATenthOfTheClientsCounted draws graphs among n candidates whom a server has picked from so many
// clients, all of the corrupt tenth among them. No client has more corrupt neighbours than the choice
// withstands, and the exact bound on that is 2^-40 for each graph. The control sizes the graph for a tenth
// of the candidates, as if the server picked without regard to who is corrupt: most of its graphs
// give some client so many corrupt neighbours that the server opens that client's vector.
func TestAServerWithATenthOfTheClientsCounted(t *testing.T) {
	tenth := Tolerance{Corrupt: 0.1, Dropout: 0.1}
	for _, c := range []struct{ n, clients int }{
		{33, 33}, {40, 40}, {100, 100}, {300, 300}, {1000, 1000},
		{33, 300}, {40, 300}, {60, 300}, {100, 300}, {150, 300}, {150, 1000}, {300, 1000}, {500, 1000},
	} {
		choice, err := PickAmong(c.n, c.clients, 32, tenth)
		if err != nil {
			t.Fatal(err)
		}
		corrupt := share(tenth.Corrupt, c.clients)
		p := &picker{n: c.n, corrupt: corrupt, log: newFactorials(c.n)}
		bound := p.around(p.corrupt, choice.Degree, 2*choice.Threshold-choice.Degree)
		if choice.Complete {
			bound = math.Inf(-1)
			if corrupt > choice.Corrupt {
				t.Errorf("%d of %d: %d may be corrupt, all of whom are neighbours, and the choice withstands %d", c.n, c.clients, corrupt, choice.Corrupt)
			}
		}
		most, open := drawn(c.n, corrupt, choice)
		weak := mustPick(t, c.n, 0, tenth)
		worst, opened := drawn(c.n, corrupt, weak)
		t.Logf("%4d of %4d, %3d corrupt: k = %d, t = %d; most corrupt neighbours %d, bound 2^%.1f, opened in %d of %d graphs; sized for the candidates: k = %d, t = %d, %d, opened in %d",
			c.n, c.clients, corrupt, choice.Degree, choice.Threshold, most, bound, open, coins, weak.Degree,
			weak.Threshold, worst, opened)
		if open > 0 || bound > -40 || 2*choice.Threshold <= choice.Degree+choice.Corrupt {
			t.Errorf("%d of %d: %+v opens a vector in %d of %d graphs, bound 2^%.1f", c.n, c.clients, choice, open, coins, bound)
		}
		if 3*c.n <= c.clients && opened == 0 {
			t.Errorf("%d of %d: the control opens nothing", c.n, c.clients)
		}
	}
}

// drawn draws graphs, and returns the most corrupt neighbours that an honest party has in any, and in how many of
// them one has so many that a server opens its vector.
func drawn(n, corrupt int, c Choice) (most, open int) {
	parties := indices(n)
	for trial := range coins {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], uint64(trial))
		g, worst := New(seed, parties, c.Degree), 0
		for party := corrupt; party < n; party++ {
			bad := 0
			for _, other := range g.Neighbours(party) {
				if other < corrupt {
					bad++
				}
			}
			worst = max(worst, bad)
		}
		most = max(most, worst)
		if 2*c.Threshold <= c.Degree+worst {
			open++
		}
	}
	return most, open
}

// TestAKnownCoinPlacesTheCorruptAroundOne: a server that knows the circle before it names the candidates makes
// all neighbours of its victim corrupt, with a tenth of 300 clients and 33 candidates.
func TestAKnownCoinPlacesTheCorruptAroundOne(t *testing.T) {
	circle := Circle([32]byte{1}, indices(300))
	bad := make(map[int]bool)
	for party := range 30 {
		bad[party] = true
	}
	victim := 299
	var candidates []int
	for _, party := range circle {
		if bad[party] || party == victim {
			candidates = append(candidates, party)
		}
	}
	for _, party := range circle { // two honest ones far from the victim, behind five corrupt ones on both sides
		if len(candidates) == 33 || bad[party] || party == victim {
			continue
		}
		if !near(append([]int{party}, candidates...), circle, party, victim) {
			candidates = append(candidates, party)
		}
	}
	all := 0
	for _, other := range On(ordered(candidates, circle), 10).Neighbours(victim) {
		if bad[other] {
			all++
		}
	}
	if len(candidates) != 33 || all != 10 {
		t.Errorf("of %d candidates %d of the victim's 10 neighbours are corrupt", len(candidates), all)
	}
}

// ordered returns parties in their order around a circle.
func ordered(parties, circle []int) []int {
	in := make(map[int]bool)
	for _, p := range parties {
		in[p] = true
	}
	var list []int
	for _, p := range circle {
		if in[p] {
			list = append(list, p)
		}
	}
	return list
}

// near reports whether a party is among another's ten nearest candidates.
func near(candidates, circle []int, party, other int) bool {
	for _, p := range On(ordered(candidates, circle), 10).Neighbours(other) {
		if p == party {
			return true
		}
	}
	return false
}
