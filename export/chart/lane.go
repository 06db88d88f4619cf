package chart

// heading sets a row's label and note: on one line where both fit.
func (c *canvas) heading(label, note string) {
	room := c.w - 2*pad
	c.y += 19
	c.fit(labelFont, pad, c.y-4, start, label, room)
	if visible(note) == "" {
		return
	}
	if left := room - width(label, labelFont) - 14; width(note, noteFont) <= left {
		c.text(noteFont, c.w-pad, c.y-4, end, note)
		return
	}
	c.y -= 1
	c.paragraph(noteFont, note, 3)
}

// lane is the ground of a row's marks, with the axis's grid.
func (c *canvas) lane(a axis) {
	c.rect("lane", a.from-6, c.y, a.to-a.from+12, laneHeight)
	for _, t := range a.ticks {
		c.line("grid", a.at(t), c.y, a.at(t), c.y+laneHeight)
	}
}

// ticks writes the axis's figures below the rows.
func (c *canvas) ticks(a axis) {
	c.y += 16
	free := 0.0
	for _, t := range a.ticks {
		s := a.spell(t)
		half := width(s, noteFont) / 2
		x := max(min(a.at(t), c.w-pad/2-half), pad/2+half)
		if x-half < free {
			continue
		}
		free = x + half + 6
		c.text(noteFont, x, c.y-3, middle, s)
	}
}
