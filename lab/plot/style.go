package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// Ink returns the colour of text and axes.
func Ink() color.Color { return color.Gray{0x30} }

// Color returns the colour of the i-th of a few curves. They differ in brightness too.
func Color(i int) color.Color {
	return []color.Color{color.RGBA{0x1b, 0x4f, 0x8a, 0xff}, color.RGBA{0xd9, 0x7a, 0x0b, 0xff},
		color.RGBA{0x5a, 0x9a, 0x5a, 0xff}}[i%3]
}

// Tint returns the colour of the i-th of many curves; they differ in brightness too.
func Tint(i int) color.Color {
	more := []color.Color{color.RGBA{0x8e, 0x3b, 0x6e, 0xff}, color.RGBA{0x6d, 0xa7, 0xd6, 0xff},
		color.RGBA{0xa8, 0x2c, 0x2c, 0xff}, color.RGBA{0x77, 0x77, 0x77, 0xff}, color.RGBA{0x3c, 0x9d, 0x9a, 0xff}}
	if i %= 3 + len(more); i >= 3 {
		return more[i-3]
	}
	return Color(i)
}

// Powers ticks a logarithmic axis at the numbers given, or at powers of ten with 2 and 5 between; beyond three
// decades only the powers.
type Powers []float64

// Ticks implements plot.Ticker.
func (t Powers) Ticks(lo, hi float64) []plot.Tick {
	values := []float64(t)
	if values == nil {
		for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
			values = append(values, math.Pow(10, e))
			if hi/lo < 1000 {
				values = append(values, 2*math.Pow(10, e), 5*math.Pow(10, e))
			}
		}
	}
	var ticks []plot.Tick
	for _, v := range values {
		if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
			continue
		}
		label := fmt.Sprintf("%.4g", v)
		if v >= 1024 && v < 1<<30 && math.Mod(v, 1024) == 0 { // 64k for 65536, and not 1e10
			label = fmt.Sprintf("%.0fk", v/1024)
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
	return ticks
}

// Tens ticks a logarithmic axis like Powers, but with powers of ten alone from one and a half decades on: for small
// panels.
type Tens struct{}

// Ticks implements plot.Ticker.
func (Tens) Ticks(lo, hi float64) []plot.Tick {
	ticks := Powers(nil).Ticks(lo, hi)
	for i, t := range ticks {
		if t.Value >= 1e4 && t.Value < 1e6 {
			ticks[i].Label = fmt.Sprintf("%gk", t.Value/1000)
		}
	}
	if hi/lo < 30 {
		return ticks
	}
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool {
		e := math.Log10(t.Value)
		return math.Abs(e-math.Round(e)) > 1e-9
	})
}

// EveryTwo ticks an axis at even numbers.
type EveryTwo struct{}

// Ticks implements plot.Ticker.
func (EveryTwo) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for v := 2 * math.Ceil(lo/2); v <= hi; v += 2 {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}
