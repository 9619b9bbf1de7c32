//go:build long

package fdskl

// How thoroughly TestResume interrupts: at how many operations of each party, and whether in all modes.
const (
	operationsTried = 25
	thorough        = true
)
