package simnet

import "slices"

// StreamBuffer is how many bytes one direction of a connection buffers, in flight and
// unread together. A Write that finds it full waits for the reader.
const StreamBuffer = 128 << 10

// byteQueue is a queue of up to StreamBuffer bytes. Filler is only counted; the other
// bytes are in a ring that grows with them.
type byteQueue struct {
	data  []byte
	start int
	kept  int // bytes in the ring
	size  int // bytes in all

	fillers []filler // in order
	behind  int      // bytes in the ring behind the last of them
}

// filler is a run of bytes whose content does not matter.
type filler struct {
	before int // bytes in the ring between this one and the one before
	size   int
}

// minBuffer is the initial size of a non-empty ring.
const minBuffer = 4 << 10

func (q *byteQueue) room() int { return StreamBuffer - q.size }

// write appends as much of p, and then of fill bytes of filler, as there is room for, and returns
// how much.
func (q *byteQueue) write(p []byte, fill int) int {
	p = p[:min(len(p), q.room())]
	fill = min(fill, q.room()-len(p))
	if need := q.kept + len(p); need > len(q.data) {
		q.grow(need)
	}
	end := q.start + q.kept
	if end >= len(q.data) {
		end -= len(q.data)
	}
	copied := copy(q.data[end:], p)
	copy(q.data, p[copied:])
	q.kept += len(p)
	q.behind += len(p)
	if fill > 0 {
		q.fillers = append(q.fillers, filler{q.behind, fill})
		q.behind = 0
	}
	q.size += len(p) + fill
	return len(p) + fill
}

// read moves the first len(p) bytes into p; there must be as many. Filler reads as zeros.
func (q *byteQueue) read(p []byte) {
	q.take(len(p), func(part int, kept bool) {
		if kept {
			copied := copy(p[:part], q.data[q.start:])
			copy(p[copied:part], q.data)
		} else {
			clear(p[:part])
		}
		p = p[part:]
	})
}

// skip removes the first size bytes; there must be as many.
func (q *byteQueue) skip(size int) { q.take(size, func(int, bool) {}) }

// take removes the first size bytes, piece by piece, each of which is seen before: either
// at the beginning of the ring, or filler.
func (q *byteQueue) take(size int, see func(part int, kept bool)) {
	q.size -= size
	for size > 0 {
		part, kept := q.behind, true
		if len(q.fillers) > 0 {
			part = q.fillers[0].before
		}
		if part == 0 {
			part, kept = q.fillers[0].size, false
		}
		part = min(part, size)
		see(part, kept)
		size -= part
		switch {
		case !kept:
			if q.fillers[0].size -= part; q.fillers[0].size == 0 {
				q.fillers = slices.Delete(q.fillers, 0, 1)
			}
			continue
		case len(q.fillers) > 0:
			q.fillers[0].before -= part
		default:
			q.behind -= part
		}
		q.kept -= part
		if q.start += part; q.start >= len(q.data) {
			q.start -= len(q.data)
		}
	}
	if q.kept == 0 {
		q.start = 0 // The next bytes need not wrap around.
	}
}

func (q *byteQueue) grow(need int) {
	size := max(len(q.data), minBuffer)
	for size < need {
		size *= 2
	}
	data := make([]byte, size)
	copied := copy(data[:q.kept], q.data[q.start:])
	copy(data[copied:q.kept], q.data)
	q.data, q.start = data, 0
}

// segment is a run of bytes that arrive together.
type segment struct {
	size     int
	arriveAt int64
}

// segmentQueue is a queue of segments in order of arrival.
type segmentQueue struct {
	items []segment
	start int
}

func (q *segmentQueue) empty() bool     { return q.start == len(q.items) }
func (q *segmentQueue) front() *segment { return &q.items[q.start] }

// push appends a segment, as part of the last one if they arrive together.
func (q *segmentQueue) push(s segment) {
	if !q.empty() {
		if last := &q.items[len(q.items)-1]; last.arriveAt == s.arriveAt {
			last.size += s.size
			return
		}
	}
	if len(q.items) == cap(q.items) && q.start > len(q.items)/2 {
		// Moving a minority of the items costs less than growing.
		q.items, q.start = slices.Delete(q.items, 0, q.start), 0
	}
	q.items = append(q.items, s)
}

func (q *segmentQueue) pop() {
	q.start++
	if q.empty() {
		q.items, q.start = q.items[:0], 0
	}
}

// cut removes all segments that arrive after now. It returns how many there
// were and how many bytes they carried.
func (q *segmentQueue) cut(now int64) (segments, bytes int) {
	for !q.empty() {
		last := q.items[len(q.items)-1]
		if last.arriveAt <= now {
			break
		}
		segments++
		bytes += last.size
		q.items = q.items[:len(q.items)-1]
	}
	return segments, bytes
}
