package keys

// weakKeys are the encodings, without the sign bit, of the points of order 1, 2, 4 and 8 on the
// curve of Ed25519, the two that are not reduced modulo p = 2^255 - 19 included.
// A key of such an order has at most eight multiples, so that a signature that "fits" is found
// by trying: a member with such a key would be bound to what it never signed.
var weakKeys = [...]ID{
	{0},        // y = 0: order 4
	{0: 1},     // y = 1: the neutral element
	fill(0xec), // y = -1: order 2
	fill(0xed), // y = p, the same as 0
	fill(0xee), // y = p + 1, the same as 1
	{ // order 8
		0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
	},
	{ // order 8, the negative
		0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
	},
}

// fill returns first, thirty bytes of 0xff and 0x7f: a number near 2^255 with its lowest byte first.
func fill(first byte) ID {
	var id ID
	for i := range id {
		id[i] = 0xff
	}
	id[0], id[IDSize-1] = first, 0x7f
	return id
}

// weak reports whether id is a key anybody can sign for. IDs are public: no constant time is needed.
func (id ID) weak() bool {
	id[IDSize-1] &= 0x7f
	for _, w := range weakKeys {
		if id == w {
			return true
		}
	}
	return false
}
