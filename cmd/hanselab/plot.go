package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"

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

// ink returns the colour of text and axes.
func ink() color.Color { return color.Gray{0x30} }

// faint returns the colour of grid lines.
func faint() color.Color { return color.Gray{0xe4} }

// curveColor returns the colour of the i-th curve of a panel. The two differ in brightness too.
func curveColor(i int) color.Color {
	colors := []color.Color{color.RGBA{0x1b, 0x4f, 0x8a, 0xff}, color.RGBA{0xd9, 0x7a, 0x0b, 0xff}, color.RGBA{0x5a, 0x9a, 0x5a, 0xff}}
	return colors[i%len(colors)]
}

// newPlot returns an empty diagram in the house style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size, p.Title.Padding = vg.Points(11), vg.Points(6)
	p.Title.TextStyle.Color, p.Title.TextStyle.Font.Variant = ink(), sans
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Label.TextStyle.Color, a.Tick.Color, a.Tick.Label.Color = ink(), ink(), ink(), ink()
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = vg.Points(10), vg.Points(9)
		a.Label.TextStyle.Font.Variant, a.Tick.Label.Font.Variant = sans, sans
		a.Label.Padding = vg.Points(3)
	}
	return p
}

// addGrid adds grid lines at the major ticks.
func addGrid(p *plot.Plot) {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = faint(), faint()
	p.Add(g)
}

// addText writes one line of text at a point of the diagram.
func addText(p *plot.Plot, x, y float64, s string, c color.Color, align text.XAlignment, offset vg.Point) error {
	l, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{s}})
	if err != nil {
		return err
	}
	l.TextStyle[0].Color, l.TextStyle[0].XAlign, l.TextStyle[0].YAlign = c, align, text.YCenter
	l.TextStyle[0].Font.Size, l.TextStyle[0].Font.Variant, l.Offset = vg.Points(9), sans, offset
	p.Add(l)
	return nil
}

// powers ticks a logarithmic axis at the numbers given, or at powers of ten with 2 and 5 between.
type powers []float64

// Ticks implements plot.Ticker.
func (t powers) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	values := []float64(t)
	if values == nil {
		values = decades(lo, hi)
	}
	for _, v := range values {
		if v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
			ticks = append(ticks, plot.Tick{Value: v, Label: shortNumber(v)})
		}
	}
	return ticks
}

// decades lists 1, 2 and 5 times the powers of ten from lo to hi; beyond three decades only the powers.
func decades(lo, hi float64) []float64 {
	var values []float64
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		values = append(values, math.Pow(10, e))
		if hi/lo < 1000 {
			values = append(values, 2*math.Pow(10, e), 5*math.Pow(10, e))
		}
	}
	return values
}

// shortNumber writes 65536 as 64k, for sizes that are powers of two.
func shortNumber(v float64) string {
	if v >= 1024 && v < 1<<30 && math.Mod(v, 1024) == 0 { // not 1e10
		return fmt.Sprintf("%.0fk", v/1024)
	}
	return fmt.Sprintf("%.4g", v)
}

// save draws a tiling of diagrams into name.svg and name.png in a folder.
func save(folder, name string, plots [][]*plot.Plot, width, height vg.Length) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	vector := vgsvg.NewWith(vgsvg.UseWH(width, height), vgsvg.EmbedFonts(false))
	bitmap := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))
	drawTiles(plots, draw.New(vector))
	drawTiles(plots, draw.New(bitmap))
	var text bytes.Buffer
	if _, err := vector.WriteTo(&text); err != nil {
		return err
	}
	// Few readers have the font that the layout is made for; these have its measures.
	svg := bytes.ReplaceAll(text.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return errors.Join(
		os.WriteFile(filepath.Join(folder, name+".svg"), svg, 0o644),
		writeFigure(filepath.Join(folder, name+".png"), vgimg.PngCanvas{Canvas: bitmap}))
}

// drawTiles draws diagrams in rows, on white.
func drawTiles(plots [][]*plot.Plot, dc draw.Canvas) {
	dc.SetColor(color.White)
	dc.Fill(dc.Rectangle.Path())
	pad := vg.Points(10)
	tiles := draw.Tiles{Rows: len(plots), Cols: len(plots[0]), PadX: 2 * pad, PadY: 2 * pad, PadTop: pad, PadBottom: pad, PadLeft: pad, PadRight: pad}
	for r, row := range plot.Align(plots, tiles, dc) {
		for c := range row {
			plots[r][c].Draw(row[c])
		}
	}
}

// writeFigure writes a drawing to a file.
func writeFigure(path string, figure io.WriterTo) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	_, err = figure.WriteTo(f)
	return err
}
