package rss

import "testing"

// TestShortWordsPanic packs words that are too few for the bytes and have others behind them, and unpacks bytes into
// such: what lies there neither leaves nor is written to.
func TestShortWordsPanic(t *testing.T) {
	for _, size := range []int{4, 6, 8} {
		for name, do := range map[string]func(words []uint64, b []byte){
			"Pack":   func(words []uint64, b []byte) { Pack(b, words, size) },
			"Unpack": func(words []uint64, b []byte) { Unpack(words, b, size) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of %d bytes a word takes words behind the end of a slice", name, size)
					}
				}()
				do(make([]uint64, 63, 64), make([]byte, 64*size))
			}()
		}
	}
}
