// Package raced tells the race detector of whole slices at once. A loop over a slice that is compiled for the detector
// reports each of its words and takes twenty times as long; a function marked go:norace that begins with Read and Write
// says the same of all words in one call, so that no race with it is missed. Otherwise both do nothing.
package raced
