//go:build !unix

package localnet

// Memory returns 0: the system does not say how much a program which has ended had in memory.
func (p *Process) Memory() int64 { return 0 }
