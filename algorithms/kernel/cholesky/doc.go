// Package cholesky solves systems of linear equations with a symmetric positive definite matrix.
//
// The result is that of the textbook's three loops, to the bit: every entry of the factor is the matrix's, less its
// products one after the other, by column, each rounded. No product is fused with its subtraction. So it does not
// depend on the number of workers, on the size of blocks or on the processor.
//
// # Panels
//
// The lower triangle is kept as panels of 8 rows; of a panel column after column, so that the 8 entries of a column are
// a line of the cache and two vectors. Only half of the matrix takes memory, 4 bytes for each pair of rows and columns.
// From a tile of 8 rows by 4 columns, in registers, the products of the rows' panel and the columns' are subtracted
// line by line. Columns are taken 64 at a time: the lines of their own panels, which all rows below need, stay in the
// second-level cache.
//
// # Vector instructions
//
// On amd64 with AVX2 a tile takes four rows at once. The program asm writes the assembly; GODEBUG=cpu.avx2=off switches
// it off. In plain Go a tile is done two rows at a time.
package cholesky
