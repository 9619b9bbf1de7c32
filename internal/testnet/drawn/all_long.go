//go:build long

package drawn

// All says whether every case is run.
const All = true
