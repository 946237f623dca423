package watch

import "github.com/oomdoc/oomdoc/diagnose"

// maxPoints bounds what is kept: a run of a month is kept more coarsely than
// one of a minute.
const maxPoints = 480

// series is an amount over time in equal steps.
type series struct {
	points []int64
	step   int // samples a point
	in     int // samples of the point in the making
	making int64
	last   int64
}

// add takes a sample. Of several samples of one point the largest counts.
func (s *series) add(n int64) {
	s.step = max(s.step, 1)
	s.last = n
	s.making = max(s.making, n)
	if s.in++; s.in < s.step {
		return
	}
	s.points = append(s.points, s.making)
	s.in, s.making = 0, 0
	if len(s.points) == maxPoints {
		s.halve()
	}
}

func (s *series) halve() {
	for i := range len(s.points) / 2 {
		s.points[i] = max(s.points[2*i], s.points[2*i+1])
	}
	s.points = s.points[:len(s.points)/2]
	s.step *= 2
}

// shown is how many points a report keeps: a plot is not wider.
const shown = 48

// told is the series as the report has it. peak counts where it is more than
// was seen: it may have stood between two samples.
func (s *series) told(name string, peak int64) diagnose.Series {
	points := s.points
	if s.in > 0 {
		points = append(points[:len(points):len(points)], s.making)
	}
	out := diagnose.Series{Name: name, Last: s.last, Bytes: thinned(points)}
	if len(points) == 0 {
		return out
	}
	out.First = points[0]
	for _, p := range points {
		out.Peak = max(out.Peak, p)
	}
	if peak > out.Peak {
		out.Peak = peak
		points = append(points[:len(points):len(points)], peak) // after the last sample
		out.Bytes = thinned(points)
	}
	out.Shape = shape(points)
	return out
}

// thinned takes the largest of each run of points.
func thinned(points []int64) []int64 {
	n := min(len(points), shown)
	out := make([]int64, n)
	for i := range n {
		for _, p := range points[i*len(points)/n : (i+1)*len(points)/n] {
			out[i] = max(out[i], p)
		}
	}
	return out
}

// fewest points tell a shape.
const fewest = 4

// shape says how an amount went. Only a rise of a quarter of its peak is one.
func shape(points []int64) string {
	n := len(points)
	if n < fewest {
		return ""
	}
	lowest, peak := points[0], points[0]
	for _, p := range points {
		lowest, peak = min(lowest, p), max(peak, p)
	}
	rise := points[n-1] - points[0]
	if peak-lowest < peak/4 || rise < peak/4 {
		return diagnose.Flat
	}
	end := max(n/10, 2) // what counts as the end
	late := points[n-1] - points[n-1-end]
	if n > 2*fewest && late*10 >= rise*6 {
		return diagnose.Spike
	}
	if steady(points, rise) {
		return diagnose.Climb
	}
	return diagnose.Jump
}

// parts is into how many a rise is cut to see whether it is steady.
const parts = 8

// steady reports a rise that goes on: in nearly all parts, and most of it in
// none.
func steady(points []int64, rise int64) bool {
	n := len(points)
	if n < parts {
		return false
	}
	rising := 0
	for i := range parts {
		step := points[(i+1)*(n-1)/parts] - points[i*(n-1)/parts]
		if step*2 > rise {
			return false
		}
		if step*parts*4 >= rise { // at least a quarter of its share
			rising++
		}
	}
	return rising >= parts-2
}
