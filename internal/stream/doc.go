// Package stream reads rows one at a time in the order in which they come: from a CSV file in time
// order, plain or gzipped, or from standard input for as long as somebody writes to it. A row's
// inputs are handed out before its label, so that a prediction is made without it.
package stream
