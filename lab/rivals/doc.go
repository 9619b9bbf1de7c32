// Package rivals holds the methods that the FDSKL paper (Gu, Dang, Li, Huang) measures itself against, each
// written as plainly as it can be: they are there to be compared with, not to be used.
//
//	DSG      doubly stochastic gradients, all columns in one place (Dai et al. 2014)
//	PPSVMV   a support vector machine on a kernel matrix that the parties sum (Yu, Vaidya, Jiang 2006)
//	FDSVRG   variance-reduced descent of a linear model over parties' columns (Zhang et al. 2018)
//	Boost    gradient-boosted trees on histograms, all columns in one place; it stands for SecureBoost's
//	         error (Cheng et al. 2019), which claims to be lossless
//	LIBSVM   the programs svm-train and svm-predict (Chang, Lin 2011), where they are installed
//
// None of them hides anything but PPSVMV, whose sum is whatever the caller makes it.
package rivals
