package fdskl

import "github.com/hanse-project/hanse/lab/plot"

// Draw draws the training times of all sets, one line for each set, on a logarithmic axis. The points are named above
// the first set.
func (r *TimesReport) Draw(folder string) error {
	d := plot.New("", "training seconds", "")
	d.LogX(plot.Powers(nil))
	names := make([]string, len(r.Sets)+1)
	sides := []struct {
		title string
		shape plot.Shape
		color int // Hanse stands out
		align plot.Align
		right float64 // the names of two points close together part
		xy    plot.Points
	}{
		{title: "in the clear", shape: plot.Ring, color: 2, align: plot.Right, right: 5},
		{title: "Hanse, 4 parties", shape: plot.Circle, color: 0, align: plot.Left, right: -5},
		{title: "svm-train", shape: plot.Pyramid, color: 1, align: plot.Center},
	}
	for i, s := range r.Sets {
		row := len(r.Sets) - i
		names[row] = s.Set
		times := []float64{s.ClearSeconds, s.Seconds}
		if s.SVM != nil {
			times = append(times, s.SVM.Seconds)
		}
		for k, x := range times {
			sides[k].xy = append(sides[k].xy, plot.Point{X: x, Y: float64(row)})
		}
	}
	d.NameRows(names...)
	for _, s := range sides {
		if len(s.xy) > 0 {
			d.Dots(s.xy, s.shape, plot.Color(s.color), 4)
			d.Text(s.xy[0], s.title, plot.Color(s.color), s.align, s.right, 13)
		}
	}
	d.X.Min, d.X.Max = d.X.Min/1.5, d.X.Max*1.5
	d.Y.Min, d.Y.Max = 0.4, float64(len(r.Sets))+0.9
	return plot.Save(folder, "fdskl", [][]*plot.Panel{{d}}, 7, float64(len(r.Sets)+2)*0.42)
}
