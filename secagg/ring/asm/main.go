// Command asm writes the assembly of package ring for processors with AVX2. Run it by go generate there.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lineBytes is the size of a line of a panel, or of words to add: two vectors.
const lineBytes = 64

func main() {
	ConstraintExpr("amd64")
	narrow("tile32", "uint32", VPMULLD, "The products are those of words, modulo 2^32.")
	narrow("tile16", "int32", VPMADDWD, "A word is a pair of numbers of 16 bits, and a product the sum of a pair's two.")
	wide()
	for _, bits := range []int{16, 32, 64} {
		lanes("add", "adds so many lines of src to dst", bits, map[int]func(...Op){16: VPADDW, 32: VPADDD, 64: VPADDQ}[bits])
		lanes("sub", "subtracts so many lines of src from dst", bits,
			map[int]func(...Op){16: VPSUBW, 32: VPSUBD, 64: VPSUBQ}[bits])
		word := fmt.Sprint("uint", bits)
		move(fmt.Sprint("put", bits), "dst *byte, src *"+word, "writes words to bytes")
		move(fmt.Sprint("get", bits), "dst *"+word+", src *byte", "reads words from bytes")
	}
	short()
	Generate()
}

// lanes is an addition or a subtraction of words one by one.
func lanes(name, what string, bits int, instruction func(...Op)) {
	name = fmt.Sprint(name, bits)
	TEXT(name, NOSPLIT, "func(dst, src *byte, lines int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s %s, 64 bytes each, words of %d bits one by one.", name, what, bits))
	eachVector(func(dst, src Mem) {
		word := YMM()
		VMOVDQU(dst, word)
		instruction(src, word, word)
		VMOVDQU(word, dst)
	})
}

// move copies words to bytes, or back: this processor keeps words as messages do.
func move(name, from, what string) {
	TEXT(name, NOSPLIT, "func("+from+", lines int)")
	Pragma("noescape")
	Doc(name + " " + what + ", so many lines of 64 bytes.")
	eachVector(func(dst, src Mem) {
		word := YMM()
		VMOVDQU(src, word)
		VMOVDQU(word, dst)
	})
}

// short are the copies of words of 64 bits to bytes that keep their lower halves, and back.
func short() {
	TEXT("putShort", NOSPLIT, "func(dst *byte, src *uint64, lines int)")
	Pragma("noescape")
	Doc("putShort writes the lower halves of words to bytes, so many lines of 64 bytes.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	lines := Load(Param("lines"), GP64())
	Label("line")
	for v := range 2 {
		first, second := YMM(), YMM()
		VMOVDQU(Mem{Base: src, Disp: 64 * v}, first)
		VMOVDQU(Mem{Base: src, Disp: 64*v + 32}, second)
		VSHUFPS(Imm(0b10_00_10_00), second, first, first) // in each half of a vector the first's, then the second's
		VPERMQ(Imm(0b11_01_10_00), first, first)
		VMOVDQU(first, Mem{Base: dst, Disp: 32 * v})
	}
	ADDQ(Imm(lineBytes), dst)
	ADDQ(Imm(2*lineBytes), src)
	DECQ(lines)
	JNZ(LabelRef("line"))
	VZEROUPPER()
	RET()

	TEXT("getShort", NOSPLIT, "func(dst *uint64, src *byte, lines int)")
	Pragma("noescape")
	Doc("getShort reads words whose upper halves are zero from bytes, so many lines of 64 bytes.")
	dst, src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	lines = Load(Param("lines"), GP64())
	Label("line")
	for v := range 4 {
		word := YMM()
		VPMOVZXDQ(Mem{Base: src, Disp: 16 * v}, word)
		VMOVDQU(word, Mem{Base: dst, Disp: 32 * v})
	}
	ADDQ(Imm(2*lineBytes), dst)
	ADDQ(Imm(lineBytes), src)
	DECQ(lines)
	JNZ(LabelRef("line"))
	VZEROUPPER()
	RET()
}

// eachVector is a function's loop over the vectors of dst and src, lines of two.
func eachVector(body func(dst, src Mem)) {
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	lines := Load(Param("lines"), GP64())
	Label("line")
	for v := range 2 {
		body(Mem{Base: dst, Disp: 32 * v}, Mem{Base: src, Disp: 32 * v})
	}
	ADDQ(Imm(lineBytes), dst)
	ADDQ(Imm(lineBytes), src)
	DECQ(lines)
	JNZ(LabelRef("line"))
	VZEROUPPER()
	RET()
}

// narrow is a tile of 4 by 16 words of 32 bits: eight vectors of sums.
func narrow(name, word string, multiply func(...Op), what string) {
	const rows = 4
	t := begin(name, word, what)
	var sums [rows][2]VecVirtual
	for i := range sums {
		sums[i] = [2]VecVirtual{zero(), zero()}
	}
	t.eachLine(func() {
		b := [2]VecVirtual{YMM(), YMM()}
		for v := range b {
			VMOVDQU(Mem{Base: t.b, Disp: 32 * v}, b[v])
		}
		for i := range sums {
			a := YMM()
			VPBROADCASTD(Mem{Base: t.a, Disp: 4 * i}, a)
			for v := range b {
				product := YMM()
				multiply(b[v], a, product)
				VPADDD(product, sums[i][v], sums[i][v])
			}
		}
	})
	for i := range sums {
		for v := range sums[i] {
			VMOVDQU(sums[i][v], Mem{Base: t.sums, Disp: lineBytes*i + 32*v})
		}
	}
	VZEROUPPER()
	RET()
}

// wide is a tile of 2 by 8 words of 64 bits. AVX2 multiplies their lower halves to 64 bits, and of the products of a
// lower and an upper half only 32 bits count: both of these are one multiplication of words of 32 bits.
func wide() {
	const rows = 2
	t := begin("tile64", "uint64", "The products are those of words, modulo 2^64.")
	var low, cross [rows][2]VecVirtual
	for i := range low {
		low[i], cross[i] = [2]VecVirtual{zero(), zero()}, [2]VecVirtual{zero(), zero()}
	}
	t.eachLine(func() {
		b, swapped := [2]VecVirtual{YMM(), YMM()}, [2]VecVirtual{YMM(), YMM()}
		for v := range b {
			VMOVDQU(Mem{Base: t.b, Disp: 32 * v}, b[v])
			VPSHUFD(Imm(0b10_11_00_01), b[v], swapped[v])
		}
		for i := range low {
			a := YMM()
			VPBROADCASTQ(Mem{Base: t.a, Disp: 8 * i}, a)
			for v := range b {
				product := YMM()
				VPMULUDQ(b[v], a, product)
				VPADDQ(product, low[i][v], low[i][v])
				product = YMM()
				VPMULLD(swapped[v], a, product)
				VPADDD(product, cross[i][v], cross[i][v])
			}
		}
	})
	for i := range low {
		for v := range low[i] {
			upper := YMM()
			VPSHUFD(Imm(0b10_11_00_01), cross[i][v], upper)
			VPADDD(upper, cross[i][v], cross[i][v])
			VPSLLQ(Imm(32), cross[i][v], cross[i][v])
			VPADDQ(cross[i][v], low[i][v], low[i][v])
			VMOVDQU(low[i][v], Mem{Base: t.sums, Disp: lineBytes*i + 32*v})
		}
	}
	VZEROUPPER()
	RET()
}

// tile is a function that multiplies two panels: its arguments in registers.
type tile struct{ sums, a, b, lines Register }

// begin writes a tile's head.
func begin(name, word, what string) tile {
	TEXT(name, NOSPLIT, "func(sums, a, b *"+word+", lines int)")
	Pragma("noescape")
	Doc(name+" writes the products of so many lines of two panels, added up, to sums: of the first words of a's lines",
		"by all of b's, row after row. "+what)
	return tile{sums: Load(Param("sums"), GP64()), a: Load(Param("a"), GP64()), b: Load(Param("b"), GP64()),
		lines: Load(Param("lines"), GP64())}
}

// eachLine repeats a body with a and b at one line after the other.
func (t tile) eachLine(body func()) {
	Label("line")
	body()
	ADDQ(Imm(lineBytes), t.a)
	ADDQ(Imm(lineBytes), t.b)
	DECQ(t.lines)
	JNZ(LabelRef("line"))
}

// zero returns a vector of zeros.
func zero() VecVirtual {
	v := YMM()
	VPXOR(v, v, v)
	return v
}
