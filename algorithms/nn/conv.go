package nn

// columnValues is how many numbers of columns are gathered at once: with the kernel they stay in
// the second cache.
const columnValues = 1 << 14

// chunk returns how many positions of s are gathered at once.
func (s *stage) chunk() int {
	return min(s.positions(), max(columnValues/s.depth(), 1), tileRows)
}

// convBackward adds the derivatives by kernel and bias, and by the input where back is not nil.
func (w *Workspace) convBackward(s *stage, in, slope, back []float32, rows int, grad []float32) {
	flipped, sums := matrix(w.flipped[s.kernel:], s.Units, s.depth()), matrix(w.sums[s.kernel:], s.Units, s.depth())
	addRows(grad[s.bias:][:s.Units], slope[:rows*s.out.size()])
	w.eachChunk(s, rows, func(row, first, count int) {
		slopes := matrix(slope[(row*s.positions()+first)*s.Units:], count, s.Units)
		columns := matrix(w.columns, count, s.depth())
		gather(s, in[row*s.in.size():][:s.in.size()], columns.Data, first, count)
		addLeftProduct(sums, slopes, columns)
		if back != nil {
			columns = matrix(w.columnSlope, count, s.depth())
			clear(columns.Data)
			addProduct(columns, slopes, flipped)
			scatter(s, back[row*s.in.size():][:s.in.size()], columns.Data, first, count)
		}
	})
}

// eachChunk calls f with every row's positions, a chunk at a time.
func (w *Workspace) eachChunk(s *stage, rows int, f func(row, first, count int)) {
	chunk := s.chunk()
	for row := range rows {
		for first := 0; first < s.positions(); first += chunk {
			f(row, first, min(chunk, s.positions()-first))
		}
	}
}

// gather writes the windows at positions [first, first+count) of an image, zero beyond its
// borders, as rows of columns.
func gather(s *stage, image, columns []float32, first, count int) {
	for p := first; p < first+count; p++ {
		eachSegment(s, p, func(place, lo, hi int) {
			segment := columns[:s.Size[1]*s.in[2]]
			clear(segment[:lo])
			copy(segment[lo:hi], image[place:])
			clear(segment[hi:])
			columns = columns[len(segment):]
		})
	}
}

// scatter adds rows of columns to the windows of an image that gather took them from.
func scatter(s *stage, image, columns []float32, first, count int) {
	for p := first; p < first+count; p++ {
		eachSegment(s, p, func(place, lo, hi int) {
			if lo < hi {
				addTo(image[place:], columns[lo:hi])
			}
			columns = columns[s.Size[1]*s.in[2]:]
		})
	}
}

// eachSegment calls f with each row of the window at a position: its values lo to hi-1 are the
// image's from place on, the others are beyond its borders.
func eachSegment(s *stage, position int, f func(place, lo, hi int)) {
	channels := s.in[2]
	top := position/s.out[1]*s.Stride[0] - s.pad[0]
	left := position%s.out[1]*s.Stride[1] - s.pad[1]
	lo, hi := max(-left, 0), min(s.in[1]-left, s.Size[1])
	for i := top; i < top+s.Size[0]; i++ {
		if i < 0 || i >= s.in[0] || lo >= hi {
			f(0, 0, 0)
			continue
		}
		f((i*s.in[1]+left+lo)*channels, lo*channels, hi*channels)
	}
}
