// Package render shows people what an audit found: Text for a terminal or a log, HTML for a
// file that a lawyer or a manager can read, print and keep. A report may quote names that hostile
// parties chose; neither rendering lets them do more than be read.
package render
