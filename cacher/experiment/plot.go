package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of the picture, and of the strip for its legend.
const (
	plotWidth    = 10 * vg.Inch
	plotHeight   = 8 * vg.Inch
	legendHeight = 0.55 * vg.Inch
)

// cpuFloor is the least CPU time that is drawn, in ms. A logarithmic axis has no
// place for 0, which is what etcd needs for watches that it does not know of.
const cpuFloor = 0.1

// curve is one line of a panel: a figure of each variant.
type curve struct {
	figure func(point) float64
	dashes []vg.Length // nil for a solid line
}

// panel is one of the plots side by side, over the number of watches.
type panel struct {
	title  string
	floor  float64 // what is less is drawn as that
	curves []curve
}

var panels = []panel{
	{"etcd's CPU to open all watches, ms (bottom: 0.1 or less)", cpuFloor, []curve{{figure: openEtcdMillis}}},
	{"etcd's CPU for each write, ms", cpuFloor, []curve{{figure: etcdMillisPerWrite}}},
	{"watches that etcd holds", 1, []curve{{figure: func(p point) float64 { return float64(p.EtcdWatchers) }}}},
	{"from write to client, ms (solid p50, dashed p99)", 0.01, []curve{
		{figure: func(p point) float64 { return p.LatencyP50Millis }},
		{figure: func(p point) float64 { return p.LatencyP99Millis }, dashes: []vg.Length{vg.Points(5), vg.Points(3)}},
	}},
}

// looks are those of the variants, in the same order. The colours are of Okabe and
// Ito's palette, which the colour-blind can tell apart, and the glyphs do without
// colour. A thick line still shows below a thin one.
var looks = []struct {
	color color.Color
	glyph draw.GlyphDrawer
	width vg.Length
}{
	{color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, draw.SquareGlyph{}, 3},
	{color.RGBA{R: 0xe6, G: 0x9f, A: 0xff}, draw.TriangleGlyph{}, 1.5},
	{color.RGBA{G: 0x72, B: 0xb2, A: 0xff}, draw.RingGlyph{}, 3},
	{color.RGBA{G: 0x9e, B: 0x73, A: 0xff}, draw.CircleGlyph{}, 1.5},
}

// plot draws the panels, in two rows below the legend, as SVG.
func (r results) plot() ([]byte, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	picture := vgsvg.New(plotWidth, plotHeight)
	canvas := draw.New(picture)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())

	grid := [][]*plot.Plot{make([]*plot.Plot, 2), make([]*plot.Plot, 2)}
	for i, drawn := range panels {
		p, err := r.panel(drawn)
		if err != nil {
			return nil, err
		}
		grid[i/2][i%2] = p
	}
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Points(18), PadY: vg.Points(18), PadTop: vg.Points(4), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(12)}
	below := draw.Crop(canvas, 0, 0, 0, -legendHeight)
	for row, canvases := range plot.Align(grid, tiles, below) {
		for column, c := range canvases {
			grid[row][column].Draw(c)
		}
	}
	if err := legend(draw.Crop(canvas, 0, 0, plotHeight-legendHeight, 0)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := picture.WriteTo(&out)
	// Not everybody has the font that gonum names. Arial has the same widths.
	text := bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
	return text, err
}

// panel draws one figure of all variants.
func (r results) panel(drawn panel) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = drawn.title
	p.Title.Padding = vg.Points(6)
	p.X.Label.Text = "watches"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xdd}, color.Gray{0xdd}
	p.Add(grid)
	for i, v := range variants {
		for _, c := range drawn.curves {
			var line plotter.XYs
			for _, rounds := range r.of(v.name) {
				line = append(line, plotter.XY{X: float64(rounds[0].Watches), Y: max(drawn.floor, rounds.median(c.figure))})
			}
			if len(line) == 0 {
				continue // a variant that was not measured
			}
			drawnLine, points, err := plotter.NewLinePoints(line)
			if err != nil {
				return nil, fmt.Errorf("drawing %s of %s: %w", drawn.title, v.name, err)
			}
			drawnLine.LineStyle = draw.LineStyle{Color: looks[i].color, Width: looks[i].width, Dashes: c.dashes}
			points.GlyphStyle = draw.GlyphStyle{Color: looks[i].color, Shape: looks[i].glyph, Radius: vg.Points(3.5)}
			p.Add(drawnLine, points)
		}
	}
	p.X.Min, p.X.Max = wholeDecades(p.X.Min, p.X.Max)
	p.Y.Min, p.Y.Max = wholeDecades(p.Y.Min, p.Y.Max)
	return p, nil
}

// wholeDecades widens a range to powers of ten.
func wholeDecades(low, high float64) (float64, float64) {
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	if low == high {
		high *= 10
	}
	return low, high
}

// decades labels the powers of ten of an axis.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for value := low; value <= high*1.001; value *= 10 {
		ticks = append(ticks, plot.Tick{Value: value, Label: fmt.Sprintf("%.6g", value)})
		for digit := 2.0; digit < 10 && value*digit < high; digit++ {
			ticks = append(ticks, plot.Tick{Value: value * digit})
		}
	}
	return ticks
}

// legend says which line is which variant, in two columns.
func legend(c draw.Canvas) error {
	left, right := draw.Crop(c, vg.Points(12), 0, 0, 0), draw.Crop(c, plotWidth/2, 0, 0, 0)
	for _, column := range []struct {
		canvas      draw.Canvas
		first, last int
	}{{left, 0, 1}, {right, 2, 3}} {
		legend := plot.NewLegend()
		legend.Top, legend.Left = true, true
		legend.ThumbnailWidth = vg.Points(36)
		legend.Padding = vg.Points(3)
		legend.XOffs, legend.YOffs = vg.Points(4), -vg.Points(6)
		for i := column.first; i <= column.last; i++ {
			line, points, err := plotter.NewLinePoints(plotter.XYs{{X: 1, Y: 1}})
			if err != nil {
				return err
			}
			line.LineStyle = draw.LineStyle{Color: looks[i].color, Width: looks[i].width}
			points.GlyphStyle = draw.GlyphStyle{Color: looks[i].color, Shape: looks[i].glyph, Radius: vg.Points(3.5)}
			legend.Add("  "+variants[i].title, line, points)
		}
		legend.Draw(column.canvas)
	}
	return nil
}
