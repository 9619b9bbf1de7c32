// Package cohort adds the vectors of clients so that a server learns the total of those who stayed
// to the end, and nothing else: sums for hundreds of clients that come and go.
//
// # Messages
//
// A sum has at most four rounds of messages; everything goes through the server. Session keys are
// exchanged once a session; a client learns those of its neighbours when it first has them.
//
//	   server                                       client
//	   │  cohort-key         ◄──────────────────────  signed session key, once a session
//	   │
//	1  │  sum-begin          ──────────────────────►  who may take part; new neighbours' keys
//	   │  sum-commit         ◄──────────────────────  a commitment to a nonce  ┐
//	   │  sum-pledged        ──────────────────────►  all commitments' digest  │ the graph's coin,
//	   │  sum-reveal         ◄──────────────────────  the nonce                │ beyond Spec.Complete
//	   │  sum-nonces         ──────────────────────►  all nonces; new keys     ┘
//	   │  sum-deposit        ◄──────────────────────  what others need to undo its masks
//	2  │  sum-members        ──────────────────────►  whose deposits came
//	   │  (the sum's kind)   ◄──────────────────────  the masked vector
//	3  │  sum-survivors      ──────────────────────►  whose vectors came
//	   │  sum-tags           ◄──────────────────────  a MAC of that list for each neighbour
//	4  │  sum-tagged         ──────────────────────►  the neighbours' MACs
//	   │  sum-shares         ◄──────────────────────  one share of one secret of each neighbour
//	   ▼
//	the total of the survivors
//
// # Secrets
//
// A client's vector is hidden by a mask of its own and by masks that it shares with its neighbours,
// which cancel in the total (double masking: Bonawitz et al. 2017, section 6). Up to a configurable
// number of clients everybody is everybody's neighbour, beyond it a random regular graph is drawn
// for each sum (Bell et al. 2020, section 3).
//
// The graph's coin is the hash of all candidates' nonces. A client shows its own when it has the digest of
// everybody's commitments, so nobody, the server included, chooses or foresees the graph. How many clients
// may be corrupt, which says how many neighbours and how high a threshold a sum has, is a part of
// Spec.Clients, whoever of them the server names. What a server that deviates can learn then is said at
// graph.Choice.Least. The tags are over the coin, too: clients who were shown different ones find it out.
//
// Each sum has two fresh secrets of each client: one gives its own mask, the other opens a list of
// the keys of its shared masks. Both are shared among the neighbours, t of whom recover one: the
// first if the client stayed, the second if it left after the deposits. No client hands out both.
// Nothing is sent to a neighbour for that: its shares are derived from what the two share since
// the session's keys were exchanged, and the client deposits with the server the points of the
// polynomials that make t of them suffice (see package shamir). Since every share and key is the
// output of a PRF on the sum's number, what one sum opens says nothing about another's.
//
// Without protection (Plain) and with ciphertexts (HE) the rounds of deposits, tags and shares
// fall away.
package cohort
