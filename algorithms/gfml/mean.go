package gfml

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Moments are what the mean of a client's model depends on: R = E z z^T, in rows of D numbers one after the other, and
// E z y, of D numbers.
type Moments struct {
	ZZ []float64
	ZY []float64
}

// MomentsOf estimates a client's moments from rows of features, each of D numbers, and their targets.
func MomentsOf(z [][]float64, y []float64) Moments {
	d := len(z[0])
	m := Moments{ZZ: make([]float64, d*d), ZY: make([]float64, d)}
	zz, share := blas64.General{Rows: d, Cols: d, Stride: d, Data: m.ZZ}, 1/float64(len(z))
	for i, row := range z {
		v := blas64.Vector{N: d, Inc: 1, Data: row}
		blas64.Ger(share, v, v, zz)
		floats.AddScaled(m.ZY, share*y[i], row)
	}
	return m
}

// Mean predicts the means of all models, iteration by iteration, over rows that are independent of each other and of
// the models (assumption 3 of the paper) and over which clients are chosen. Selections are those of the plan.
//
// Equation 18 takes the means of A and B apart, though both hold the same draw of clients: what it calls a server's
// mean has parts of clients that never received its model. With apart it is followed to the letter; without, the mean
// of the two together is taken, which is that of Algorithm 1. Two things of the section are as Algorithm 1 has them in
// both: the cooperation of servers, where the P of equation 14 lacks eta; and the terms with the targets stay, where
// the paper's errors w* - w leave them out because it has w* = C P B A w*, which clusters of different w* do not
// fulfil.
type Mean struct {
	plan    *Plan
	moments [][]Moments
	apart   bool
	servers [][]float64   // E w_p
	clients [][][]float64 // E w_{p,k}
}

// NewMean starts a prediction with all models at 0, for clients with these moments, [server][client].
func (p *Plan) NewMean(moments [][]Moments, apart bool) (*Mean, error) {
	m, d := &Mean{plan: p, moments: moments, apart: apart}, p.params.Features
	if len(moments) != p.Servers() {
		return nil, fmt.Errorf("there are moments of the clients of %d servers, want %d", len(moments), p.Servers())
	}
	for s, of := range moments {
		if len(of) != p.Clients(s) {
			return nil, fmt.Errorf("server %q: there are moments of %d clients, want %d", p.graph.names[s], len(of),
				p.Clients(s))
		}
		m.servers, m.clients = append(m.servers, make([]float64, d)), append(m.clients, nil)
		for k, c := range of {
			if len(c.ZZ) != d*d || len(c.ZY) != d {
				return nil, fmt.Errorf("%s: its moments are of %d and %d numbers, want %d and %d", p.clientName(s, k), len(c.ZZ),
					len(c.ZY), d*d, d)
			}
			m.clients[s] = append(m.clients[s], make([]float64, d))
		}
	}
	return m, nil
}

// Server returns the predicted mean of a server's model, of D numbers.
func (m *Mean) Server(server int) []float64 { return slices.Clone(m.servers[server]) }

// Step predicts iteration n.
func (m *Mean) Step(n int) {
	prime := make([][]float64, len(m.servers))
	for s := range m.servers {
		prime[s] = m.local(n, s)
	}
	psi := make([][]float64, len(prime))
	for s := range psi {
		psi[s] = slices.Clone(prime[s])
		for _, w := range m.plan.rules[s].others {
			floats.AddScaled(psi[s], m.plan.params.Eta*w.value, prime[w.server])
			floats.AddScaled(psi[s], -m.plan.params.Eta*w.value, prime[s])
		}
	}
	for s := range m.servers {
		clear(m.servers[s])
		for _, w := range m.plan.rules[s].own {
			floats.AddScaled(m.servers[s], w.value, psi[w.server])
		}
	}
}

// local predicts the clients of a server and returns the mean of psi'.
func (m *Mean) local(n, s int) []float64 {
	d, mu := m.plan.params.Features, m.plan.params.Step
	all := float64(len(m.clients[s]))
	chance := float64(m.plan.params.Participants) / all
	psi, received, pulled := slices.Clone(m.servers[s]), make([]float64, d), make([]float64, d)
	for k, w := range m.clients[s] {
		// What a chosen client receives, less what it had; and the same after its step.
		clear(received)
		m.plan.eachRun(s, k, n, func(lo, hi int) {
			copy(received[lo:hi], m.servers[s][lo:hi])
			floats.Sub(received[lo:hi], w[lo:hi])
		})
		copy(pulled, received)
		m.plan.eachRun(s, k, n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				floats.AddScaled(pulled, -mu*received[i], m.moments[s][k].ZZ[i*d:(i+1)*d])
			}
		})
		m.learn(s, k, w)
		uploaded := slices.Clone(w)
		floats.AddScaled(w, chance, pulled)
		if m.apart {
			copy(uploaded, w)
		} else {
			floats.Add(uploaded, pulled)
		}
		m.plan.eachRun(s, k, n+1, func(lo, hi int) {
			floats.AddScaled(psi[lo:hi], 1/all, uploaded[lo:hi])
			floats.AddScaled(psi[lo:hi], -1/all, m.servers[s][lo:hi])
		})
	}
	return psi
}

// learn is the mean of a step of a client that was not chosen: w + mu (E z y - R w).
func (m *Mean) learn(s, k int, w []float64) {
	of, d := m.moments[s][k], len(w)
	step := slices.Clone(of.ZY)
	blas64.Gemv(blas.NoTrans, -1, blas64.General{Rows: d, Cols: d, Stride: d, Data: of.ZZ},
		blas64.Vector{N: d, Inc: 1, Data: w}, 1, blas64.Vector{N: d, Inc: 1, Data: step})
	floats.AddScaled(w, m.plan.params.Step, step)
}
