// Package plot draws diagrams in one style, as SVG and PNG.
package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	pngDPI = 144 // resolution of the bitmap
	sans   = "Sans"
)

// Point is a point of a diagram.
type Point = plotter.XY

// Points are points of a diagram.
type Points = plotter.XYs

// ByRound turns values by round, from 1, into points.
func ByRound(values []float64) Points {
	var xy Points
	for t, v := range values {
		xy = append(xy, Point{X: float64(t + 1), Y: v})
	}
	return xy
}

// Positive keeps the points of values by round that a logarithmic axis can show.
func Positive(values []float64) Points {
	return slices.DeleteFunc(ByRound(values), func(at Point) bool { return at.Y <= 1e-6 })
}

// Panel is one diagram of a figure. The first error of drawing is kept for Save.
type Panel struct {
	X, Y *plot.Axis // their Min and Max grow with what is drawn, and may be set afterwards
	plot *plot.Plot
	err  error
}

// New returns an empty diagram with a grid.
func New(title, x, y string) *Panel {
	p := &Panel{plot: plot.New()}
	p.X, p.Y = &p.plot.X, &p.plot.Y
	p.plot.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.plot.Title.TextStyle.Font.Size, p.plot.Title.Padding = vg.Points(11), vg.Points(6)
	p.plot.Title.TextStyle.Color, p.plot.Title.TextStyle.Font.Variant = Ink(), sans
	for _, a := range []*plot.Axis{p.X, p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Color, a.Tick.Label.Color = Ink(), Ink(), Ink(), Ink()
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = vg.Points(10), vg.Points(9)
		a.Label.TextStyle.Font.Variant, a.Tick.Label.Font.Variant = sans, sans
		a.Label.Padding = vg.Points(3)
	}
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.plot.Add(g)
	return p
}

// Blank returns a panel without axes, on which both run from 0 to 1.
func Blank() *Panel {
	p := &Panel{plot: plot.New()}
	p.X, p.Y = &p.plot.X, &p.plot.Y
	p.plot.HideAxes()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	return p
}

// LogX makes the horizontal axis logarithmic.
func (p *Panel) LogX(ticks plot.Ticker) { p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, ticks }

// LogY makes the vertical axis logarithmic.
func (p *Panel) LogY(ticks plot.Ticker) { p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ticks }

// NameRows names the places 0, 1 and so on of the vertical axis, which has no line.
func (p *Panel) NameRows(names ...string) {
	var ticks []plot.Tick
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = plot.ConstantTicks(ticks), 0, 0
}

// Dashes of a line.
type Dashes int

// The kinds of lines.
const (
	Solid Dashes = iota
	Dashed
	LongDashed
	Dotted
)

// lengths are those of strokes and gaps.
func (d Dashes) lengths() []vg.Length {
	return [][]vg.Length{nil, {vg.Points(4), vg.Points(2.5)}, {vg.Points(5), vg.Points(2.5)},
		{vg.Points(1.3), vg.Points(2)}}[d]
}

// Style is how a line looks.
type Style struct {
	Color  color.Color
	Width  float64 // points; 0: 1.4
	Dashes Dashes
	Dots   float64 // radius of the points on it; 0: none
}

// Line draws a line; with a name it stands in the legend.
func (p *Panel) Line(name string, xy Points, s Style) {
	line, dots, err := plotter.NewLinePoints(xy)
	if err != nil {
		p.fail(name, err)
		return
	}
	if s.Width == 0 {
		s.Width = 1.4
	}
	line.Color, line.Width, line.Dashes = s.Color, vg.Points(s.Width), s.Dashes.lengths()
	p.plot.Add(line)
	if s.Dots > 0 {
		dots.GlyphStyle = draw.GlyphStyle{Color: s.Color, Radius: vg.Points(s.Dots), Shape: draw.CircleGlyph{}}
		p.plot.Add(dots)
	}
	if name != "" {
		p.plot.Legend.Add(name, line)
	}
}

// Band fills the space between two lines.
func (p *Panel) Band(upper, lower Points, c color.Color, opacity uint8) {
	lower = slices.Clone(lower)
	slices.Reverse(lower)
	band, err := plotter.NewPolygon(slices.Concat(upper, lower))
	if err != nil {
		p.fail("band", err)
		return
	}
	r, g, b, _ := c.RGBA()
	band.Color, band.LineStyle.Width = color.NRGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), opacity}, 0
	p.plot.Add(band)
}

// Shape is how a point looks.
type Shape int

// The shapes of points.
const (
	Circle Shape = iota
	Ring
	Pyramid
)

// Dots draws points.
func (p *Panel) Dots(xy Points, s Shape, c color.Color, radius float64) {
	dots, err := plotter.NewScatter(xy)
	if err != nil {
		p.fail("points", err)
		return
	}
	shape := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}}[s]
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(radius), Shape: shape}
	p.plot.Add(dots)
}

// Align is which side of a text stands at its point.
type Align = text.XAlignment

// The sides of texts.
const (
	Left   = text.XLeft
	Right  = text.XRight
	Center = text.XCenter
)

// Text writes one line of text, so many points to the right of a point of the diagram and above it.
func (p *Panel) Text(at Point, s string, c color.Color, align Align, right, up float64) {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: Points{at}, Labels: []string{s}})
	if err != nil {
		p.fail(s, err)
		return
	}
	l.TextStyle[0].Color, l.TextStyle[0].XAlign, l.TextStyle[0].YAlign = c, align, text.YCenter
	l.TextStyle[0].Font.Size, l.TextStyle[0].Font.Variant = vg.Points(9), sans
	l.Offset = vg.Point{X: vg.Points(right), Y: vg.Points(up)}
	p.plot.Add(l)
}

// Place is where the legend of a panel stands: at the right and the top if nothing else is said.
type Place struct {
	Left, Bottom bool
	Right, Up    float64 // points that it is moved by
}

// Legend names the lines.
func (p *Panel) Legend(at Place) {
	l := &p.plot.Legend
	l.TextStyle.Font.Size, l.TextStyle.Font.Variant, l.TextStyle.Color = vg.Points(8), sans, Ink()
	l.ThumbnailWidth, l.Padding = vg.Points(18), vg.Points(1.5)
	l.Left, l.Top, l.XOffs, l.YOffs = at.Left, !at.Bottom, vg.Points(at.Right), vg.Points(at.Up)
}

// fail keeps the first error.
func (p *Panel) fail(what string, err error) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: %w", what, err)
	}
}

// Rows puts panels in rows of so many, the last of which is filled up with blank ones.
func Rows(panels []*Panel, wide int) [][]*Panel {
	for len(panels)%wide > 0 {
		panels = append(panels, Blank())
	}
	return slices.Collect(slices.Chunk(panels, wide))
}

// Save draws a tiling of panels, in inches, into name.svg and name.png in a folder.
func Save(folder, name string, panels [][]*Panel, width, height float64) error {
	var plots [][]*plot.Plot
	for _, row := range panels {
		plots = append(plots, nil)
		for _, p := range row {
			if p.err != nil {
				return fmt.Errorf("%s: %w", name, p.err)
			}
			plots[len(plots)-1] = append(plots[len(plots)-1], p.plot)
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	w, h := vg.Length(width)*vg.Inch, vg.Length(height)*vg.Inch
	vector := vgsvg.NewWith(vgsvg.UseWH(w, h), vgsvg.EmbedFonts(false))
	bitmap := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))
	drawTiles(plots, draw.New(vector))
	drawTiles(plots, draw.New(bitmap))
	var svg, png bytes.Buffer
	if _, err := vector.WriteTo(&svg); err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: bitmap}).WriteTo(&png); err != nil {
		return err
	}
	// Few readers have the font that the layout is made for; these have its measures.
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return errors.Join(os.WriteFile(filepath.Join(folder, name+".svg"), text, 0o644),
		os.WriteFile(filepath.Join(folder, name+".png"), png.Bytes(), 0o644))
}

// drawTiles draws diagrams in rows, on white.
func drawTiles(plots [][]*plot.Plot, dc draw.Canvas) {
	dc.SetColor(color.White)
	dc.Fill(dc.Rectangle.Path())
	pad := vg.Points(10)
	tiles := draw.Tiles{Rows: len(plots), Cols: len(plots[0]), PadX: 2 * pad, PadY: 2 * pad, PadTop: pad,
		PadBottom: pad,
		PadLeft:   pad, PadRight: pad}
	for r, row := range plot.Align(plots, tiles, dc) {
		for c := range row {
			plots[r][c].Draw(row[c])
		}
	}
}
