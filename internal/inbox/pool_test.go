package inbox

import "testing"

// TestThePoolIsBounded releases more than the pool takes, also while some of it is lent.
func TestThePoolIsBounded(t *testing.T) {
	var p pool
	const size = poolMost / 4
	for range 6 {
		p.keep(make([]byte, size))
	}
	if len(p.free) != 4 || p.bytes != poolMost {
		t.Fatalf("%d buffers with %d bytes are kept, want 4 with %d", len(p.free), p.bytes, poolMost)
	}
	lent := p.lend()
	p.keep(make([]byte, size))
	if len(p.free) != 3 {
		t.Errorf("%d buffers are kept beside a lent one, want 3", len(p.free))
	}
	p.settle(lent)
	p.keep(lent)
	if len(p.free) != 4 || p.bytes != poolMost {
		t.Errorf("%d buffers with %d bytes are kept in the end, want 4 with %d", len(p.free), p.bytes, poolMost)
	}
}
