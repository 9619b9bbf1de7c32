//go:build !(goexperiment.simd && amd64)

package ring

// kinds are the kernels that this machine can run.
func kinds() []kernels { return []kernels{plainKernels()} }
