//go:build long

package sealed

// thorough says whether tests try all cases, of which they try a sample otherwise.
const thorough = true
