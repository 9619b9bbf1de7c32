// Package transcript keeps what a party sent, received and learned in a job: one file per job and
// party, over all its sessions, appended to and never changed. docs/transcript.md is its format.
//
// A Log writes it; it is the protocol.Recorder of a session. Every record carries the hash of all records before it.
// The two ends of a link sign what passed between them (a countersignature), and a party signs its own chain (a
// signature record, "seal" in files and reports), so that nothing can be changed afterwards without it showing. A
// Store keeps the payloads, when they are wanted, by their hash.
//
// A Reader reads a transcript from anybody and checks the chain; a Verifier checks what else one
// transcript can prove by itself. Neither needs a key. What the records mean under a contract, and
// whether the transcripts of several parties fit together, is for package audit.
//
// Who is trusted with what: the file shows whom a party dealt with, when, and how many bytes passed, but
// no values. Whoever owns the party's key and file can cut the end off, or write another history since
// the last countersignature of each link; it cannot change what lies before without its peers' keys.
// A Store holds all that the party received and is as secret as the party's machine.
package transcript
