package inbox

import "sync"

// poolMost is how many bytes of released memory an inbox keeps or has lent out to waiting
// receivers. Beyond it frames get memory of their own, when they come.
const poolMost = 64 << 20

// pool keeps the memory of frames for frames to come.
type pool struct {
	mu    sync.Mutex
	free  [][]byte
	bytes int // capacity of what is free and of what is lent
}

// lend returns released memory, or nil without any.
func (p *pool) lend() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		return nil
	}
	buf := p.free[last]
	p.free[last] = nil
	p.free = p.free[:last]
	return buf
}

// settle takes what was lent off the account: the frame is its receiver's now.
func (p *pool) settle(buf []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= cap(buf)
}

// keep takes memory in, unless there is enough of it.
func (p *pool) keep(buf []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cap(buf) == 0 || p.bytes+cap(buf) > poolMost {
		return
	}
	p.bytes += cap(buf)
	p.free = append(p.free, buf[:0])
}
