// Package enrol brings newcomers into a charter, and new versions of a charter into force, while
// the members' nodes run.
//
// A member's node has an Enrolment. Its folder holds
//
//	invitations/<short id>/invitation.toml   who may call this node although it is no member
//	proposals/<name>-v<version>-<hash>.toml  versions that wait for signatures
//
// and these files are what its owner works with: Invite and Propose put them there, the owner
// signs a proposal in place, and the node notices within a second. It carries proposals and
// signatures to the other members' nodes, and when a proposal has been signed by all its members
// the node puts it in the place of its own charter file and tells Config.Changed.
//
// An Enrolment is made of parts: the versions, the files that they stand in, and the dispatcher, which carries them
// round. By these it answers whoever calls.
//
// A newcomer has no node yet, and neither has a member whose key the version replaces. It calls the inviter's node, or
// that of any member who has signed a version that names its key: Newcomer fetches the invitation, if there is one, and
// the proposal, holds them against each other, signs, and waits for the others.
//
// The methods on the wire, all of them CBOR:
//
//	join/fetch         nothing -> invitation, proposal and its parent     newcomer to inviter
//	join/sign          hash, signature -> nothing
//	join/charter       hash -> the proposal with the signatures so far
//	join/kept          nothing -> nothing; the newcomer has the charter with all signatures
//	charter/propose    text -> nothing                                    member to member
//	charter/signature  hash, signatures -> whether the proposal is known
//	charter/fetch      version -> the text of that version, if it was in force here
//
// Everything that goes round is signed text, so that it does not matter who passes it on. A node
// takes part in one version at a time: the owner's signature counts on the first proposal of a
// version that it was put on, and is kept back from all others. As long as one member of both is
// honest, two proposals of one version cannot both come into force.
//
// A first version has no nodes under a charter to carry it. Founding is its maker's side: the members that it names
// call as newcomers do, with the same methods, and nobody else is answered.
//
// The package knows no network. It is a protocol.Handler and makes calls by Config.Call.
package enrol
