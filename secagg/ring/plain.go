//go:build !(goexperiment.simd && amd64)

package ring

// fastest returns the kernels to use.
func fastest() kernels { return plainKernels() }
