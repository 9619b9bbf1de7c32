// Package hindsight looks for the parameters that a network should have had all along: theta* of the OFMS-FT paper,
// equation 2, which the server's regret, equation 3, is measured against. It trains offline on all rows of all
// clients, as no server can.
//
// Losses of networks are not convex, so nobody knows theta* itself. What is found here is no worse than the network
// it starts from, and a regret against it is at most that of equation 3.
package hindsight
