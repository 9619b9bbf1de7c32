package report

import (
	"html/template"
	"strings"
	"unicode"
)

// maxBars is how many bars a chart shows.
const maxBars = 40

// thick is how high a bar is, and line what its label takes above it.
const thick, line = 13, 19

// bar is one horizontal bar with its label above it.
type bar struct {
	label   string
	note    string  // at the right end of the label's line
	value   float64 // filled
	outline float64 // drawn around it when positive
	class   string  // of the filled bar
	close   bool    // stands close under the bar before it, without a line of its own
}

// barChart draws bars from zero, with an axis below when write is given.
func barChart(id, title, desc string, bars []bar, write func(float64) string) template.HTML {
	bars = bars[:min(len(bars), maxBars)]
	const left, right = 1, 429
	x := axis{0, longest(bars), left, right}
	height := heightOf(bars)
	d := newDrawing(id, title, desc, figureWidth, height+6)
	if write != nil {
		d.height = height + 30
	}
	y := 0.0
	for i, b := range bars {
		y += gap(b, i)
		if !b.close {
			d.text("label", "start", left, y+13, fit(b.label, right-12-pixels(b.note)))
			d.text("note", "end", right, y+13, clip(b.note, 50))
			y += line
		}
		d.rect(b.class, left, y, x.at(b.value)-left, thick)
		if b.outline > 0 {
			d.rect("outline", left, y, x.at(b.outline)-left, thick)
		}
		y += thick
	}
	d.line("rule", left, height, right, height)
	if write != nil {
		d.below(x, height, write)
	}
	return d.markup()
}

// fit cuts a label to a width in pixels.
func fit(label string, room float64) string {
	if pixels(label) <= room {
		return label
	}
	letters := []rune(label)
	for len(letters) > 1 && pixels(string(letters)+"...") > room {
		letters = letters[:len(letters)-1]
	}
	return string(letters) + "..."
}

// pixels estimates the width of a label from above.
func pixels(label string) float64 {
	wide := 0.0
	for _, c := range label {
		switch {
		case c > unicode.MaxLatin1:
			wide += 13
		case strings.ContainsRune("mwMW%@", c):
			wide += 11.5
		case unicode.IsUpper(c):
			wide += 9.5
		default:
			wide += 7
		}
	}
	return wide
}

// gap returns the space above a bar.
func gap(b bar, i int) float64 {
	switch {
	case i == 0:
		return 0
	case b.close:
		return 3
	}
	return 12
}

// heightOf returns how high all bars stand together.
func heightOf(bars []bar) float64 {
	height := 6.0
	for i, b := range bars {
		height += gap(b, i) + thick
		if !b.close {
			height += line
		}
	}
	return height
}

// longest returns the largest value of the bars with a little room, at least a tiny one.
func longest(bars []bar) float64 {
	most := 1e-12
	for _, b := range bars {
		for _, v := range []float64{b.value, b.outline} {
			if finite(v) {
				most = max(most, v)
			}
		}
	}
	return most
}

// below draws the ticks of a bar chart; marks at the ends stay inside the drawing.
func (d *drawing) below(x axis, height float64, write func(float64) string) {
	for _, v := range x.ticks() {
		anchor := "middle"
		switch at := x.at(v); {
		case at < x.a+20:
			anchor = "start"
		case at > x.b-20:
			anchor = "end"
		}
		d.line("tick", x.at(v), height, x.at(v), height+5)
		d.text("mark", anchor, x.at(v), height+20, write(v))
	}
}
