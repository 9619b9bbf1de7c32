// Package coverage tries the intervals of figures: it draws tables from populations whose figures are known, and counts
// the intervals that hold the truth. It is tests alone.
package coverage
