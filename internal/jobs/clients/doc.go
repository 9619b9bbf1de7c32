// Package clients runs jobs over clients' streams: servers aggregate, and each client learns with its server.
//
// A session (session.go) goes on with whoever is there. The algorithms see it through the networks of package
// federated (network.go, questions.go, exchange.go), whose sums are those of secagg/cohort; servers sum their models
// under masks of their own (mixing.go). A client's rows come from its stream (rows.go). What all this sends is listed
// in disclose.go.
//
// What an algorithm does is asked of its entry in the registry (algorithms/registry): no algorithm has a file here.
package clients
