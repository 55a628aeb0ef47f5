package simnet

import "slices"

// StreamBuffer is how many bytes one direction of a connection holds, under
// way and unread together. A Write that finds it full waits for the reader.
const StreamBuffer = 128 << 10

// byteQueue is a ring of bytes that grows up to StreamBuffer.
type byteQueue struct {
	data  []byte
	start int
	size  int
}

// minBuffer is the first size of a ring that holds anything.
const minBuffer = 4 << 10

func (q *byteQueue) room() int { return StreamBuffer - q.size }

// write appends as much of p as there is room for, and returns how much.
func (q *byteQueue) write(p []byte) int {
	p = p[:min(len(p), q.room())]
	if need := q.size + len(p); need > len(q.data) {
		q.grow(need)
	}
	end := q.start + q.size
	if end >= len(q.data) {
		end -= len(q.data)
	}
	copied := copy(q.data[end:], p)
	copy(q.data, p[copied:])
	q.size += len(p)
	return len(p)
}

// read moves the first len(p) bytes into p; there must be as many.
func (q *byteQueue) read(p []byte) {
	copied := copy(p, q.data[q.start:])
	copy(p[copied:], q.data)
	q.size -= len(p)
	q.start += len(p)
	if q.start >= len(q.data) {
		q.start -= len(q.data)
	}
	if q.size == 0 {
		q.start = 0 // The next bytes need not wrap around.
	}
}

func (q *byteQueue) grow(need int) {
	size := max(len(q.data), minBuffer)
	for size < need {
		size *= 2
	}
	data := make([]byte, size)
	copied := copy(data[:q.size], q.data[q.start:])
	copy(data[copied:q.size], q.data)
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
