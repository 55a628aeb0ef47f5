package cacher

import (
	"bytes"
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

var plotFlag = flag.String("plot", "", "TestExperimentPlot draws this output of BenchmarkWatchesOnEtcd, or the results of watch storms, to the same name with .svg")

// TestExperimentPlot checks that the plots of docs/cacher-experiment.md and docs/watch-storm.md
// show the results beside them.
func TestExperimentPlot(t *testing.T) {
	if *plotFlag != "" {
		require.NoError(t, os.WriteFile(strings.TrimSuffix(*plotFlag, ".txt")+".svg", drawExperiment(t, *plotFlag), 0o644))
		return
	}
	for _, name := range []string{"cacher-experiment", "watch-storm"} {
		picture, err := os.ReadFile("../docs/" + name + ".svg")
		require.NoError(t, err)
		require.True(t, bytes.Equal(picture, drawExperiment(t, "../docs/"+name+".txt")), "the plot shows other results: "+
			"run go test ./cacher -run TestExperimentPlot -plot ../docs/%s.txt", name)
	}
}

// panel is a plot over the number of watches. Values below the floor are drawn there, as a
// logarithmic axis has no 0.
type panel struct {
	title string
	units []string // solid, then dashed
	floor float64
}

// panels are the four plots of the experiment, stormPanels those of watch storms.
var panels = []panel{
	{"etcd's CPU to open all watches, ms (bottom: 0.1 or less)", []string{"etcd-cpu-ms/open"}, 0.1},
	{"etcd's CPU for each write, ms", []string{"etcd-cpu-ms/write"}, 0.1},
	{"watches in etcd", []string{"etcd-watches"}, 1},
	{"from write to client, ms (solid p50, dashed p99)", []string{"p50-ms/event", "p99-ms/event"}, 0.01},
}

var stormPanels = []panel{
	{"requests", []string{"requests"}, 1},
	{"answers 429 (bottom: none)", []string{"429s"}, 1},
	{"lists that reach etcd", []string{"etcd-lists"}, 1},
	{"s until all are current (dashed: half; bottom: 0.1 or less)", []string{"all-s", "half-s"}, 0.1},
}

// line is a variant. A thick one still shows below a thin one.
type line struct {
	served, title string
	color         color.Color
	glyph         draw.GlyphDrawer
	width         vg.Length
}

// lines are the variants in the colours of Okabe and Ito's palette, which the colour-blind
// can tell apart; stormLines those of watch storms.
var lines = []line{
	{"etcd-shared", "etcd, all watches on one connection", color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, draw.SquareGlyph{}, 3},
	{"etcd-spread", "etcd, watches spread over connections", color.RGBA{R: 0xe6, G: 0x9f, A: 0xff}, draw.TriangleGlyph{}, 1.5},
	{"kubernetes", "Kubernetes' cacher", color.RGBA{G: 0x72, B: 0xb2, A: 0xff}, draw.RingGlyph{}, 3},
	{"cacher", "this cacher", color.RGBA{G: 0x9e, B: 0x73, A: 0xff}, draw.CircleGlyph{}, 1.5},
}

var stormLines = []line{
	{"kubernetes-alone", "Kubernetes' cacher, the only server", lines[0].color, draw.SquareGlyph{}, 3},
	{"cacher-alone", "this cacher, the only server", lines[1].color, draw.TriangleGlyph{}, 1.5},
	{"kubernetes-of-three", "Kubernetes' cacher, one server of three", lines[2].color, draw.RingGlyph{}, 3},
	{"cacher-of-three", "this cacher, one server of three", lines[3].color, draw.CircleGlyph{}, 1.5},
}

// drawExperiment draws the medians of the rounds in a file of results.
func drawExperiment(t *testing.T, path string) []byte {
	found := readExperiment(t, path)
	panels, lines := panels, lines
	if found.storms {
		panels, lines = stormPanels, stormLines
	}
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	picture := vgsvg.New(10*vg.Inch, 8*vg.Inch)
	canvas := draw.New(picture)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	grid := [][]*plot.Plot{make([]*plot.Plot, 2), make([]*plot.Plot, 2)}
	for i, panel := range panels {
		p := plot.New()
		p.Title.Text, p.Title.Padding, p.X.Label.Text = panel.title, vg.Points(6), "watches"
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
		p.Add(plotter.NewGrid())
		for _, line := range lines {
			for dashed, unit := range panel.units {
				var points plotter.XYs
				for _, watches := range found.watches {
					if values := found.values[sample{line.served, watches, unit}]; len(values) > 0 {
						slices.Sort(values)
						points = append(points, plotter.XY{X: float64(watches), Y: max(panel.floor, values[(len(values)-1)/2])})
					}
				}
				if len(points) == 0 {
					continue
				}
				drawn, glyphs, err := plotter.NewLinePoints(points)
				require.NoError(t, err)
				drawn.Color, drawn.Width = line.color, line.width
				if dashed == 1 {
					drawn.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
				}
				glyphs.GlyphStyle = draw.GlyphStyle{Color: line.color, Shape: line.glyph, Radius: vg.Points(3.5)}
				p.Add(drawn, glyphs)
				if i == 0 {
					p.Legend.Add(line.title, drawn, glyphs)
				}
			}
		}
		p.Legend.Top, p.Legend.Left = true, true
		p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), -vg.Points(6)
		p.X.Min, p.X.Max = wholeDecades(p.X.Min, p.X.Max)
		p.Y.Min, p.Y.Max = wholeDecades(p.Y.Min, p.Y.Max)
		grid[i/2][i%2] = p
	}
	tiles := draw.Tiles{Rows: 2, Cols: 2, PadX: vg.Points(18), PadY: vg.Points(18), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(12)}
	for row, canvases := range plot.Align(grid, tiles, canvas) {
		for column, c := range canvases {
			grid[row][column].Draw(c)
		}
	}
	var out bytes.Buffer
	_, err := picture.WriteTo(&out)
	require.NoError(t, err)
	// Not every system has gonum's font. Arial has the same widths.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
}

// sample is what the rounds have values of.
type sample struct {
	served  string
	watches int
	unit    string
}

type experimentResults struct {
	values  map[sample][]float64
	watches []int // in order
	storms  bool  // the results are those of watch storms
}

// readExperiment reads the output of BenchmarkWatchesOnEtcd, or the results of watch storms.
func readExperiment(t *testing.T, path string) experimentResults {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	found := experimentResults{values: map[sample][]float64{}}
	for reader := benchfmt.NewReader(file, path); reader.Scan(); {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue // a line that is no result, such as one of a log
		}
		var s sample
		name, parts := result.Name.Parts()
		found.storms = string(name) == "Storm"
		for _, part := range parts {
			if text, ok := strings.CutPrefix(string(part), "/watches="); ok {
				s.watches, err = strconv.Atoi(text)
				require.NoError(t, err)
			} else if text, ok := strings.CutPrefix(string(part), "/served="); ok {
				s.served = text
			}
		}
		if !slices.Contains(found.watches, s.watches) {
			found.watches = append(found.watches, s.watches)
		}
		for _, value := range result.Values {
			s.unit = value.Unit
			found.values[s] = append(found.values[s], value.Value)
		}
	}
	require.NotEmpty(t, found.watches, "expected results of BenchmarkWatchesOnEtcd in %s, found none", path)
	slices.Sort(found.watches)
	return found
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
