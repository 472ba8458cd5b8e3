package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// In pixels.
const (
	unitX, unitY = 40, 36 // of the dashboard's grid
	head         = 46     // above it
	gap          = 8
	plotLeft     = 44
	plotTop      = 34
)

// style is for light and dark: the picture has its own ground, and its text and lines stand out on either.
const style = `
text { font: 11px system-ui, sans-serif; fill: #57606a }
.ground { fill: #f6f8fa } .panel { fill: #ffffff; stroke: #d0d7de } .grid { stroke: #d8dee4 }
.title { font-size: 13px; font-weight: 600; fill: #1f2328 } .h1 { font-size: 16px }
.l { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke-linecap: round }
.c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 } .c3 { stroke: #bf3989 } .c4 { stroke: #8250df } .c5 { stroke: #6e7781 }
@media (prefers-color-scheme: dark) {
text { fill: #9da7b1 } .title { fill: #e6edf3 }
.ground { fill: #0d1117 } .panel { fill: #161b22; stroke: #30363d } .grid { stroke: #30363d }
.c0 { stroke: #58a6ff } .c1 { stroke: #f0883e } .c2 { stroke: #56d364 } .c3 { stroke: #ff7bc0 } .c4 { stroke: #bc8cff } .c5 { stroke: #c9d1d9 }
}
`

// draw returns the picture.
func draw(widgets []widget, data measured) (string, error) {
	width, height := 24*unitX+gap, 0
	for _, w := range widgets {
		height = max(height, head+(w.Y+w.Height)*unitY+gap)
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title">
<title id="title">The template's dashboard, of %[3]d minutes that were simulated</title>
<style>%[4]s</style>
<rect class="ground" width="%[1]d" height="%[2]d"/>
<text class="title h1" x="8" y="22">The template's dashboard, of %[3]d minutes that were simulated</text>
<text x="8" y="38">By the minute. Beside each name: the total of a count, the peak of anything else.</text>
`, width, height, data.last-data.first+1, style)
	for _, w := range widgets {
		if err := drawWidget(&svg, w, data); err != nil {
			return "", fmt.Errorf("%s: %w", w.Properties.Title, err)
		}
	}
	svg.WriteString("</svg>\n")
	return svg.String(), nil
}

func drawWidget(svg *strings.Builder, w widget, data measured) error {
	width, height := w.Width*unitX-gap, w.Height*unitY-gap
	fmt.Fprintf(svg, "<g transform=\"translate(%d %d)\">\n<rect class=\"panel\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", w.X*unitX+gap, head+w.Y*unitY+gap, width, height)
	fmt.Fprintf(svg, "<text class=\"title\" x=\"12\" y=\"21\">%s</text>\n", html.EscapeString(w.Properties.Title))
	var labels []string
	var all [][]float64
	top := 0.0
	for _, of := range w.Properties.Metrics {
		l, err := lineOf(of)
		if err != nil {
			return err
		}
		values, err := data.of(l)
		if err != nil {
			return err
		}
		total, peak := 0.0, 0.0
		for _, v := range values {
			if !math.IsNaN(v) {
				total, peak = total+v, max(peak, v)
			}
		}
		top = max(top, peak)
		if l.stat == "Sum" {
			peak = total
		}
		labels, all = append(labels, l.label+" "+number(peak)), append(all, values)
	}
	bottom := legend(svg, labels, width, height) - 24
	top = nice(top)
	right, minutes := width-18, data.last-data.first+1
	y := func(v float64) float64 { return float64(bottom) - float64(v/top*float64(bottom-plotTop)) }
	x := func(minute int) float64 {
		return plotLeft + float64(float64(minute)/float64(minutes)*float64(right-plotLeft)) // float64: no fused operation of one machine
	}
	for _, v := range []float64{0, top / 2, top} {
		fmt.Fprintf(svg, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", plotLeft, y(v), right, plotLeft-6, y(v)+4, number(v))
	}
	for minute := 0; minute <= minutes; minute += 15 {
		fmt.Fprintf(svg, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d:%02d</text>\n", x(minute), bottom+15, minute/60, minute%60)
	}
	for i, values := range all {
		fmt.Fprintf(svg, "<path class=\"l c%d\" d=\"%s\"/>\n", i%6, path(values, x, y))
	}
	svg.WriteString("</g>\n")
	return nil
}

// legend writes the lines' names into the rows that they take, and returns where these begin.
func legend(svg *strings.Builder, labels []string, width, height int) (top int) {
	const char, sign, row = 6.4, 18, 16
	var at [][2]int
	x, rows := 12, 1
	for _, label := range labels {
		takes := sign + int(char*float64(len(label))) + 10
		if x+takes > width && x > 12 {
			x, rows = 12, rows+1
		}
		at = append(at, [2]int{x, rows})
		x += takes
	}
	top = height - 8 - row*rows
	for i, label := range labels {
		x, y := at[i][0], top+row*at[i][1]-4
		fmt.Fprintf(svg, "<path class=\"l c%d\" d=\"M%d %dh12\"/><text x=\"%d\" y=\"%d\">%s</text>\n", i%6, x, y-4, x+sign, y, html.EscapeString(label))
	}
	return top
}

// path joins the values of minutes that follow each other; one by itself is a dot.
func path(values []float64, x func(int) float64, y func(float64) float64) string {
	var d strings.Builder
	for minute, v := range values {
		if math.IsNaN(v) {
			continue
		}
		command := "L"
		if minute == 0 || math.IsNaN(values[minute-1]) {
			command = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", command, x(minute), y(v))
		if command == "M" && (minute+1 == len(values) || math.IsNaN(values[minute+1])) {
			d.WriteString("h0")
		}
	}
	return d.String()
}

// nice is a number whose half is short, and no less than v.
func nice(v float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(max(v, 1)))))
	for _, times := range []float64{1, 2, 3, 4, 6, 8} {
		if v <= times*unit {
			return times * unit
		}
	}
	return 10 * unit
}

// number has three digits at most, and k for thousands.
func number(v float64) string {
	if v >= 1000 {
		return number(v/1000) + "k"
	}
	digits := 0
	if v != math.Trunc(v) && v < 100 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
