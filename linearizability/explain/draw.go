package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// The widths of the columns: time, active faults, etcd, server, client. With two
// spaces between them and a margin of two they add up to Columns.
var widths = []int{9, 4, 20, 18, 39}

// The columns.
const (
	timeColumn = iota
	faultColumn
	etcdColumn
	serverColumn
	clientColumn
)

// Draw draws moments, which must be in order of time. It returns "" if there are none.
func Draw(moments []Moment) string {
	if len(moments) == 0 {
		return ""
	}
	d := drawing{server: single(moments, Server), client: single(moments, Client)}
	d.bands(moments)
	rows := []row{{"time", "", "etcd", cmp.Or(d.server, "server"), cmp.Or(d.client, "client")}, rule(widths)}
	for _, b := range d.beats(moments) {
		rows = append(rows, d.row(b))
	}
	text := table(widths, rows)
	for _, band := range d.faults {
		text += legend(band)
	}
	return text
}

// single returns the process that a lane is named after: the one of the last marked
// moment, or else of the first.
func single(moments []Moment, lane Lane) string {
	found := ""
	for _, m := range moments {
		if m.Lane == lane && (found == "" || m.Mark != "") {
			found = who(m)
		}
	}
	return found
}

// band is a fault and its letter.
type band struct {
	letter byte
	moment Moment
}

type drawing struct {
	server, client string
	faults         []band
}

// bands assigns letters to faults.
func (d *drawing) bands(moments []Moment) {
	for _, m := range moments {
		if m.Lane == Fault && len(d.faults) < 26 {
			d.faults = append(d.faults, band{byte('A' + len(d.faults)), m})
		}
	}
}

// beat is the content of a row: a moment, or the end of a fault.
type beat struct {
	time   int64
	moment Moment
	end    *band // the fault that ends
	begin  *band
}

// beats returns the moments, and the ends of faults between them.
func (d *drawing) beats(moments []Moment) []beat {
	var beats []beat
	faults := 0
	for _, m := range moments {
		b := beat{time: m.Time, moment: m}
		if m.Lane == Fault {
			if faults == len(d.faults) {
				continue
			}
			b.begin = &d.faults[faults]
			faults++
		}
		beats = append(beats, b)
	}
	last := moments[len(moments)-1].Time
	for f := range model.Each(d.faults) {
		if f.moment.End > f.moment.Time && f.moment.End <= last {
			beats = append(beats, beat{time: f.moment.End, moment: f.moment, end: f})
		}
	}
	slices.SortStableFunc(beats, func(a, b beat) int { return cmp.Compare(a.time, b.time) })
	return beats
}

// row returns the row of a beat.
func (d *drawing) row(b beat) row {
	r := make(row, len(widths))
	r[timeColumn] = model.At(b.time)
	r[faultColumn] = d.under(b)
	text := b.moment.Text
	switch {
	case b.end != nil:
		r[etcdColumn] = fmt.Sprintf("(%c ends)", b.end.letter)
	case b.begin != nil && b.moment.End > b.moment.Time:
		r[etcdColumn] = fmt.Sprintf("(%c begins)", b.begin.letter)
	case b.begin != nil:
		r[etcdColumn] = fmt.Sprintf("(%c)", b.begin.letter)
	case b.moment.Lane == Etcd:
		r[etcdColumn] = marked(b.moment, text)
	case b.moment.Lane == Server:
		if b.moment.Process != d.server {
			text = b.moment.Process + ": " + text
		}
		r[serverColumn] = marked(b.moment, text)
	default:
		if who(b.moment) != d.client && !(b.moment.Stream == 0 && strings.HasPrefix(d.client, b.moment.Process+" ")) {
			text = who(b.moment) + ": " + text
		}
		r[clientColumn] = marked(b.moment, text)
	}
	return r
}

// marked puts a mark before a text.
func marked(m Moment, text string) string {
	switch {
	case m.Mark == Owed && m.Lane == Etcd:
		return "[expected] " + text
	case m.Mark != "":
		return ">> " + text
	}
	return text
}

// under returns the letters of the active faults.
func (d *drawing) under(b beat) string {
	var letters []byte
	for f := range model.Each(d.faults) {
		if (f.moment.Time <= b.time && b.time < f.moment.End && b.end != f) || b.begin == f {
			letters = append(letters, f.letter)
		}
	}
	if len(letters) > widths[faultColumn] {
		letters = append(letters[:widths[faultColumn]-1], '+')
	}
	return string(letters)
}

// legend returns the line that explains a letter.
func legend(b band) string {
	when := "at " + model.At(b.moment.Time)
	if b.moment.End > b.moment.Time {
		when = model.At(b.moment.Time) + " to " + model.At(b.moment.End)
	}
	return hanging(strings.Repeat(" ", indent)+string(b.letter)+"  ", b.moment.Text+", "+when)
}
