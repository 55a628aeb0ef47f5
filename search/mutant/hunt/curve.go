package main

import (
	"bytes"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/watchsim/watchsim/search/mutant"
)

// curve is the share of some bugs that is found within a given time.
type curve struct {
	title string
	color color.Color
	// bugs holds the trials of each bug.
	bugs [][]result
}

// curvesOf returns a curve for each half of the mutants, and one for results of hunts in other runs
// if there are any, perhaps with older edits.
func curvesOf(all []mutant.Mutant, results []result) []curve {
	var earlier [][]result
	for _, m := range all {
		trials := slices.DeleteFunc(slices.Clone(results), func(r result) bool {
			return r.Mutant != m.Name || r.Trial == 0 || r.Strategy != "" || r.Hunt == strings.Join(m.Hunt, " ")
		})
		if m.Equivalent == "" && m.Source != "" && len(trials) > 0 {
			earlier = append(earlier, trials)
		}
	}
	return slices.DeleteFunc([]curve{
		{"in the scenario any: bugs that it was tuned on", color.RGBA{G: 0x72, B: 0xb2, A: 0xff}, bugsOf(tuned, all, results)},
		{"in the scenario any: bugs that were held out", color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, bugsOf(heldOut, all, results)},
		{"before: each bug in the scenario made for it", color.Gray{Y: 0x80}, earlier},
	}, func(c curve) bool { return len(c.bugs) == 0 })
}

// at returns the share found within a number of seconds of processor time, in percent: the mean
// over all bugs of the share of successful trials.
func (c curve) at(seconds float64) float64 {
	sum := 0.0
	for _, trials := range c.bugs {
		_, found, _ := detections(trials)
		found = slices.DeleteFunc(found, func(at float64) bool { return at > seconds })
		sum += float64(len(found)) / float64(len(trials))
	}
	return 100 * sum / float64(len(c.bugs))
}

// points returns the steps of a curve up to a number of seconds.
func (c curve) points(until float64) plotter.XYs {
	seconds := []float64{firstSecond}
	for _, trials := range c.bugs {
		_, found, _ := detections(trials)
		found = slices.DeleteFunc(found, func(at float64) bool { return at <= firstSecond || at >= until })
		seconds = append(seconds, found...)
	}
	slices.Sort(seconds)
	var points plotter.XYs
	for _, x := range append(seconds, until) {
		points = append(points, plotter.XY{X: x, Y: c.at(x)})
	}
	return points
}

// firstSecond is where the time axis begins.
const firstSecond = 0.1

// drawCurves draws curves as SVG, up to a number of seconds.
func drawCurves(curves []curve, until float64) ([]byte, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "processor time, seconds", "bugs found, percent"
	p.X.Scale, p.Y.Min, p.Y.Max = plot.LogScale{}, 0, 100
	var ticks plot.ConstantTicks
	for _, at := range []float64{0.1, 0.3, 1, 3, 10, 30, 120, 600} {
		if at <= until {
			ticks = append(ticks, plot.Tick{Value: at, Label: fmt.Sprint(at)})
		}
	}
	p.X.Tick.Marker = ticks
	p.Add(plotter.NewGrid())
	for _, c := range curves {
		line, err := plotter.NewLine(c.points(until))
		if err != nil {
			return nil, err
		}
		line.Color, line.Width, line.StepStyle = c.color, vg.Points(2), plotter.PostStep
		p.Add(line)
		p.Legend.Add(fmt.Sprintf("%s (%.0f %% of %d)", c.title, c.at(until), len(c.bugs)), line)
	}
	// In the corner above the curves, with room to the right, as fonts differ in width.
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), -vg.Points(6)
	picture := vgsvg.New(8*vg.Inch, 4*vg.Inch)
	canvas := draw.New(picture)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	p.Draw(draw.Crop(canvas, vg.Points(6), -vg.Points(12), vg.Points(6), -vg.Points(8)))
	var out bytes.Buffer
	_, err := picture.WriteTo(&out)
	// Not every system has gonum's font. Arial has the same widths.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif")), err
}
