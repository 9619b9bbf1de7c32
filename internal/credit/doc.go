// Package credit generates.
package credit
