package nn

// keepLarger replaces values of top by larger ones.
func keepLarger(top, values []float32) {
	values = values[:len(top)]
	for i, v := range top {
		top[i] = max(v, values[i])
	}
}

// poolBackward adds each slope to the place its value came from, the first of equals.
func poolBackward(s *stage, in, out, slope, back []float32, rows int) {
	if back == nil {
		return
	}
	channels := s.in[2]
	left := make([]float32, channels)
	for row := range rows {
		offset := row * s.in.size()
		for p := range s.positions() {
			at := (row*s.positions() + p) * channels
			copy(left, slope[at:])
			eachPixel(s, p, func(place int) {
				giveBack(back[offset+place:][:channels], left, in[offset+place:], out[at:])
			})
		}
	}
}

// giveBack moves slopes that are left to back, where in is the value that came out.
func giveBack(back, left, in, out []float32) {
	in, out, left = in[:len(back)], out[:len(back)], left[:len(back)]
	for c := range back {
		if in[c] == out[c] {
			back[c] += left[c]
			left[c] = 0
		}
	}
}

// eachPixel calls f with the place of each pixel of a window that is inside the image, by rows.
func eachPixel(s *stage, position int, f func(place int)) {
	top := position/s.out[1]*s.Stride[0] - s.pad[0]
	left := position%s.out[1]*s.Stride[1] - s.pad[1]
	for i := max(top, 0); i < min(top+s.Size[0], s.in[0]); i++ {
		for j := max(left, 0); j < min(left+s.Size[1], s.in[1]); j++ {
			f((i*s.in[1] + j) * s.in[2])
		}
	}
}
