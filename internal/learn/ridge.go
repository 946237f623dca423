package main

import (
	"math"
	"slices"
)

// example is one case as numbers: the features that hold, what is said without
// them, and how the truth is spread over the classes.
type example struct {
	features []int
	offset   []float64
	target   []float64
	weight   float64
}

// ridge is a multinomial logit whose weights are held near zero.
type ridge struct {
	features, classes int
	lambda            float64
	examples          []example
}

// value is the loss of weights, and its slope.
func (r *ridge) value(w, slope []float64) float64 {
	loss := 0.0
	for i, v := range w {
		loss += r.lambda * v * v / 2
		slope[i] = r.lambda * v
	}
	p := make([]float64, r.classes)
	for _, x := range r.examples {
		copy(p, x.offset)
		for _, f := range x.features {
			for k, v := range w[f*r.classes : (f+1)*r.classes] {
				p[k] += v
			}
		}
		total := normal(p)
		for k := range p {
			if x.target[k] > 0 {
				loss -= x.weight * x.target[k] * (p[k] - total)
			}
			p[k] = x.weight * (math.Exp(p[k]-total) - x.target[k])
		}
		for _, f := range x.features {
			for k, v := range p {
				slope[f*r.classes+k] += v
			}
		}
	}
	return loss
}

// normal is the logarithm of the sum of exponentials.
func normal(logs []float64) float64 {
	highest, sum := slices.Max(logs), 0.0
	for _, v := range logs {
		sum += math.Exp(v - highest)
	}
	return highest + math.Log(sum)
}

// memory is how many steps the search looks back, steps how many it takes at
// most.
const (
	memory = 8
	steps  = 80
)

// fit returns the weights of least loss.
func (r *ridge) fit() []float64 { return minimum(r.features*r.classes, r.value) }

// minimum finds n weights of least loss by L-BFGS (Nocedal and Wright, Numerical
// Optimization, algorithm 7.5) from zero: the same for the same function, which
// also writes the slope there.
func minimum(n int, value func(w, slope []float64) float64) []float64 {
	w, slope := make([]float64, n), make([]float64, n)
	loss := value(w, slope)
	var past []pair
	next, nextSlope := make([]float64, n), make([]float64, n)
	for range steps {
		direction := descent(slope, past)
		down := dot(direction, slope)
		if -down < 1e-7*(1+math.Abs(loss)) {
			break
		}
		size := 1.0
		if past == nil {
			size = 1 / math.Sqrt(-down)
		}
		var nextLoss float64
		for range 30 {
			for i := range w {
				next[i] = w[i] + size*direction[i]
			}
			if nextLoss = value(next, nextSlope); nextLoss <= loss+1e-4*size*down {
				break
			}
			size /= 2
		}
		if nextLoss >= loss {
			break
		}
		p := pair{step: minus(next, w), change: minus(nextSlope, slope)}
		if p.curvature = dot(p.step, p.change); p.curvature > 0 {
			past = append(past[max(0, len(past)-memory+1):], p)
		}
		copy(w, next)
		copy(slope, nextSlope)
		loss = nextLoss
	}
	return w
}

// pair is a step of the search and how the slope changed by it.
type pair struct {
	step, change []float64
	curvature    float64
}

// descent is where to go next: the slope, bent by what the last steps showed.
func descent(slope []float64, past []pair) []float64 {
	d := make([]float64, len(slope))
	for i, v := range slope {
		d[i] = -v
	}
	share := make([]float64, len(past))
	for i, p := range slices.Backward(past) {
		share[i] = dot(p.step, d) / p.curvature
		add(d, -share[i], p.change)
	}
	if len(past) > 0 {
		last := past[len(past)-1]
		scale := last.curvature / dot(last.change, last.change)
		for i := range d {
			d[i] *= scale
		}
	}
	for i, p := range past {
		add(d, share[i]-dot(p.change, d)/p.curvature, p.step)
	}
	return d
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func add(to []float64, share float64, v []float64) {
	for i, x := range v {
		to[i] += share * x
	}
}

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}
