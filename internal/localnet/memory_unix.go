//go:build unix

package localnet

import (
	"runtime"
	"syscall"
)

// Memory returns the most bytes that a program which has ended had in memory, 0 where the system does not say.
func (p *Process) Memory() int64 {
	usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok || usage == nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // which counts bytes
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
