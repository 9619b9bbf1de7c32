// Package summary says for a person, before consent, what a contract computes, what will leave the machine, and who
// learns what.
package summary
