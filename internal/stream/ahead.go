package stream

import "context"

// Ahead returns the inputs of up to n of the next rows of a file, which Next still returns in their turn;
// labels are not looked at. From a row that cannot be read on there are none, nor of standard input or
// a pipe, whose rows may be long in coming.
func (s *Stream) Ahead(ctx context.Context, n int) ([][]float64, error) {
	var rows [][]float64
	for i := 0; s.file && i < n; i++ {
		if i == len(s.ahead) {
			l, err := s.receive(ctx, nil)
			if err != nil {
				return nil, err
			}
			s.ahead = append(s.ahead, l)
		}
		l := s.ahead[i]
		if l.err != nil {
			break
		}
		x, err := s.numbers(l.cells)
		if err != nil {
			break
		}
		rows = append(rows, x)
	}
	return rows, nil
}
