// Package dataset reads the tables that members train on: CSV with a header and an id column,
// and LIBSVM, each plain or gzipped, and the cells of package source's other locations. A table is
// somebody else's work, so every limit is checked before memory is taken, and an error names the
// file, the row, the line, the column and the cell. A table's sum is a digest of its content, the
// same wherever it comes from.
//
// A column is numeric when each of its cells is a number, and categorical when it is listed as
// such or when none is; a mix is refused. Blanks around a cell do not count. Text is valid UTF-8
// without control characters. Rows come back sorted by id, byte by byte, so that two members who
// hold the same people hold them in the same order whatever the order of their files.
//
// The package also does what trials need: it stacks tables, deals columns to pretended parties
// and splits rows into training and test rows, all from public seeds.
package dataset
