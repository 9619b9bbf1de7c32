// Package joint has what all algorithms over columns of the same rows have in common.
package joint
