package chart

// box is a rectangle in pixels.
type box struct{ x1, y1, x2, y2 float64 }

func (b box) hits(o box) bool { return b.x1 < o.x2 && o.x1 < b.x2 && b.y1 < o.y2 && o.y1 < b.y2 }

func (b box) within(o box) bool { return b.x1 >= o.x1 && b.x2 <= o.x2 && b.y1 >= o.y1 && b.y2 <= o.y2 }

// target is a point that wants a label of a size beside it.
type target struct{ x, y, w, h float64 }

// beside lists where a label may stand, best first: right, left, above, below, the
// corners; then the same further away.
var beside = [][3]float64{ // horizontal and vertical side, distance
	{1, 0, 8}, {-1, 0, 8}, {0, -1, 8}, {0, 1, 8}, {1, -1, 5}, {1, 1, 5}, {-1, -1, 5}, {-1, 1, 5},
	{1, -1, 18}, {1, 1, 18}, {-1, -1, 18}, {-1, 1, 18}, {0, -1, 24}, {0, 1, 24}, {1, 0, 26}, {-1, 0, 26},
	{1, -1, 34}, {1, 1, 34}, {-1, -1, 34}, {-1, 1, 34}, {0, -1, 42}, {0, 1, 42},
}

// near says up to which candidate a label is seen to belong to its point without a
// line to it.
const near = 8

// placed is where a label stands: the candidate it took, or -1 where none was free.
type placed struct {
	box
	candidate int
}

// place finds for every target, in order, the first free place inside bounds that
// touches no point and no other label; of these one that touches no obstacle, if
// there is any.
func place(targets []target, bounds box, obstacles []box) []placed {
	out := make([]placed, len(targets))
	var taken []box
	for _, t := range targets {
		taken = append(taken, box{t.x - 7, t.y - 7, t.x + 7, t.y + 7})
	}
	for n, t := range targets {
		out[n].candidate = -1
		for i, b := range beside {
			at := candidate(t, b)
			if !at.within(bounds) || hitsAny(at, taken) {
				continue
			}
			clear := !hitsAny(at, obstacles)
			if out[n].candidate < 0 || clear {
				out[n] = placed{at, i}
			}
			if clear {
				break
			}
		}
		if out[n].candidate >= 0 {
			taken = append(taken, out[n].box)
		}
	}
	return out
}

func candidate(t target, b [3]float64) box {
	x, y := t.x+b[0]*(b[2]+t.w/2), t.y+b[1]*(b[2]+t.h/2)
	return box{x - t.w/2, y - t.h/2, x + t.w/2, y + t.h/2}
}

func hitsAny(b box, others []box) bool {
	for _, o := range others {
		if b.hits(o) {
			return true
		}
	}
	return false
}
