//go:build !long

package rss

// thorough says whether tests try all cases, of which they try a sample otherwise.
const thorough = false
