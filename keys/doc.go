// Package keys holds what a member is known by and what the members have agreed on:
// identities, key files, public cards, invitations and the charter. It parses, signs and
// verifies; it opens no connection, and imports of this module only
// how files are made durable and text is worded.
//
// A member makes a key with GenerateKey and keeps it with CreateKeyFile. Its ID is the public
// key. It tells others its Card. Somebody collects the cards into a Charter and NewCharter turns
// it into a text; each member reads the text with ParseCharter, signs it, and sends it on. The
// charter is in force when InForce says so. A change is a new version that names the one
// before by its digest: WithMember, WithoutMember, Diff, Follows.
//
// All of these are a Document: TOML that people read, with signatures below. What is signed are
// bytes, so a text is kept as it came and never rendered anew. Parsers take hostile input: they
// bound what they allocate, refuse what they do not know, characters nobody sees and keys
// anybody can sign for, and keep nothing of a text with an error in it.
//
// Who is trusted with what: a key file is a secret of its owner, and who has it is that member
// until the key is revoked. Cards, invitations and charters are public to the members; who
// changes a stored one can only make it invalid.
package keys
