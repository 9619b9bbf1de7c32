package ofmsft

// Window holds the newest scaled rows and labels of a client, one after another.
type Window struct {
	inputs, most int
	x            []float32 // [rows][inputs]
	y            []float64 // [rows]
}

// NewWindow makes room for so many rows.
func NewWindow(inputs, rows int) *Window {
	return &Window{inputs: inputs, most: rows, x: make([]float32, 0, inputs*rows), y: make([]float64, 0, rows)}
}

// Push adds a row and, when the window is full, forgets the oldest.
func (w *Window) Push(x []float32, y float64) {
	if len(w.y) == w.most {
		copy(w.x, w.x[w.inputs:])
		copy(w.y, w.y[1:])
		w.x, w.y = w.x[:len(w.x)-w.inputs], w.y[:len(w.y)-1]
	}
	w.x = append(w.x, x...)
	w.y = append(w.y, y)
}

// Rows returns how many rows there are.
func (w *Window) Rows() int { return len(w.y) }

// Before returns up to n rows that end with the one that came age rows before the newest; valid until
// the next Push.
func (w *Window) Before(age, n int) (x []float32, y []float64) {
	end := len(w.y) - age
	start := max(0, end-n)
	return w.x[start*w.inputs : end*w.inputs], w.y[start:end]
}
