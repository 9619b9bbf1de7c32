// Command asm writes the assembly of package cholesky for processors with AVX2. Run it by go generate there.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lineBytes is the size of a panel's line: two vectors of four numbers.
const lineBytes = 64

// columns is how many a tile has.
const columns = 4

func main() {
	ConstraintExpr("amd64")
	TEXT("tile", NOSPLIT, "func(sums, a, b *float64, lines int)")
	Pragma("noescape")
	Doc("tile subtracts the products of so many lines of two panels from sums: of the first four numbers of a's lines by",
		"all of b's, row after row. Each product is rounded before it is subtracted.")
	sums, a, b := Load(Param("sums"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	lines := Load(Param("lines"), GP64())
	var tile [columns][2]VecVirtual
	each := func(do func(number VecVirtual, place Mem)) {
		for c := range tile {
			for v := range tile[c] {
				do(tile[c][v], Mem{Base: sums, Disp: lineBytes*c + 32*v})
			}
		}
	}
	for c := range tile {
		tile[c] = [2]VecVirtual{YMM(), YMM()}
	}
	each(func(number VecVirtual, place Mem) { VMOVUPD(place, number) })
	Label("line")
	row := [2]VecVirtual{YMM(), YMM()}
	for v := range row {
		VMOVUPD(Mem{Base: b, Disp: 32 * v}, row[v])
	}
	for c := range tile {
		column := YMM()
		VBROADCASTSD(Mem{Base: a, Disp: 8 * c}, column)
		for v := range row {
			product := YMM()
			VMULPD(row[v], column, product)
			VSUBPD(product, tile[c][v], tile[c][v])
		}
	}
	ADDQ(Imm(lineBytes), a)
	ADDQ(Imm(lineBytes), b)
	DECQ(lines)
	JNZ(LabelRef("line"))
	each(func(number VecVirtual, place Mem) { VMOVUPD(number, place) })
	VZEROUPPER()
	RET()
	Generate()
}
