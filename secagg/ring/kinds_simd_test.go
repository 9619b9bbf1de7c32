//go:build goexperiment.simd && amd64

package ring

import "simd/archsimd"

// kinds are the kernels that this machine can run.
func kinds() []kernels {
	if archsimd.X86.AVX512() {
		return []kernels{plainKernels(), vectorKernels()}
	}
	return []kernels{plainKernels()}
}
