package qrcode

// fix sets a module that carries no data.
func (c *Code) fix(x, y int, dark bool) {
	if x < 0 || y < 0 || x >= c.Size || y >= c.Size {
		return
	}
	c.dark[y*c.Size+x], c.isFixed[y*c.Size+x] = dark, true
}

// drawPatterns draws all that readers look for, and keeps room for the format.
func (c *Code) drawPatterns(version int) {
	for i := range c.Size {
		c.fix(6, i, i%2 == 0)
		c.fix(i, 6, i%2 == 0)
	}
	for _, at := range [][2]int{{3, 3}, {c.Size - 4, 3}, {3, c.Size - 4}} {
		c.drawRings(at[0], at[1], 4) // with the light ring around
	}
	places := alignments(version)
	last := len(places) - 1
	for i, x := range places {
		for j, y := range places {
			if i == 0 && j == 0 || i == 0 && j == last || i == last && j == 0 {
				continue // a corner has its own
			}
			c.drawRings(x, y, 2)
		}
	}
	c.drawFormat(0)
	if version >= 7 {
		c.drawVersion(version)
	}
}

// drawRings draws a square of rings around a dark module.
func (c *Code) drawRings(x, y, radius int) {
	for dy := -radius; dy <= radius; dy++ {
		for dx := -radius; dx <= radius; dx++ {
			ring := max(dx, -dx, dy, -dy)
			dark := ring != 2 && ring != 4
			if radius == 2 {
				dark = ring != 1
			}
			c.fix(x+dx, y+dy, dark)
		}
	}
}

// alignments are the coordinates of the small squares.
func alignments(version int) []int {
	if version == 1 {
		return nil
	}
	count, size := version/7+2, 17+4*version
	step := (version*4 + count*2 + 1) / (count*2 - 2) * 2
	places := make([]int, count)
	for i, at := count-1, size-7; i > 0; i, at = i-1, at-step {
		places[i] = at
	}
	places[0] = 6
	return places
}

// drawFormat writes the level and the mask, twice.
func (c *Code) drawFormat(mask int) {
	data := mask // level M is 00
	rest := data
	for range 10 {
		rest = rest<<1 ^ (rest>>9)*0x537
	}
	bits := (data<<10 | rest) ^ 0x5412
	bit := func(i int) bool { return bits>>i&1 == 1 }
	for i := range 6 {
		c.fix(8, i, bit(i))
	}
	c.fix(8, 7, bit(6))
	c.fix(8, 8, bit(7))
	c.fix(7, 8, bit(8))
	for i := 9; i < 15; i++ {
		c.fix(14-i, 8, bit(i))
	}
	for i := range 8 {
		c.fix(c.Size-1-i, 8, bit(i))
	}
	for i := 8; i < 15; i++ {
		c.fix(8, c.Size-15+i, bit(i))
	}
	c.fix(8, c.Size-8, true)
}

// drawVersion writes the version, twice.
func (c *Code) drawVersion(version int) {
	rest := version
	for range 12 {
		rest = rest<<1 ^ (rest>>11)*0x1F25
	}
	bits := version<<12 | rest
	for i := range 18 {
		dark := bits>>i&1 == 1
		a, b := c.Size-11+i%3, i/3
		c.fix(a, b, dark)
		c.fix(b, a, dark)
	}
}

// drawData writes words in columns of two, up and down, from the right.
func (c *Code) drawData(data []byte) {
	i := 0
	for right := c.Size - 1; right >= 1; right -= 2 {
		if right == 6 {
			right = 5
		}
		for step := range c.Size {
			y := step
			if (right+1)&2 == 0 {
				y = c.Size - 1 - step
			}
			for x := right; x > right-2; x-- {
				if !c.isFixed[y*c.Size+x] && i < len(data)*8 {
					c.dark[y*c.Size+x] = data[i/8]>>(7-i%8)&1 == 1
					i++
				}
			}
		}
	}
}

// masked reports whether a mask turns a module over.
func masked(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (x/3+y/2)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	default:
		return ((x+y)%2+x*y%3)%2 == 0
	}
}

func (c *Code) turn(mask int) {
	for y := range c.Size {
		for x := range c.Size {
			if i := y*c.Size + x; !c.isFixed[i] && masked(mask, x, y) {
				c.dark[i] = !c.dark[i]
			}
		}
	}
}

// chooseMask takes the mask with the fewest patterns that trouble readers.
func (c *Code) chooseMask() {
	best, least := 0, int(^uint(0)>>1)
	for mask := range 8 {
		c.turn(mask)
		c.drawFormat(mask)
		if p := c.penalty(); p < least {
			best, least = mask, p
		}
		c.turn(mask) // back
	}
	c.turn(best)
	c.drawFormat(best)
}

// penalty counts, by the standard's rules, long runs, squares of one colour, what
// looks like a corner, and too much of one colour.
func (c *Code) penalty() int {
	sum, dark := 0, 0
	for a := range c.Size {
		sum += c.linePenalty(func(i int) bool {
			return c.Dark(i, a)
		}) + c.linePenalty(func(i int) bool { return c.Dark(a, i) })
		for b := range c.Size {
			d := c.Dark(a, b)
			if d {
				dark++
			}
			if a > 0 && b > 0 && d == c.Dark(a-1, b) && d == c.Dark(a, b-1) && d == c.Dark(a-1, b-1) {
				sum += 3
			}
		}
	}
	all := c.Size * c.Size
	off := dark*20 - all*10
	return sum + max(off, -off)/all*10
}

// linePenalty counts runs of five and more, and the pattern of corners with a light
// side, in a row or a column.
func (c *Code) linePenalty(dark func(int) bool) int {
	const corner = 0b1011101
	sum, run, seen := 0, 0, 0
	for i := range c.Size {
		if i > 0 && dark(i) == dark(i-1) {
			run++
		} else {
			run = 1
		}
		switch {
		case run == 5:
			sum += 3
		case run > 5:
			sum++
		}
		seen = seen << 1 & 0x7FF
		if dark(i) {
			seen |= 1
		}
		if i >= 10 && (seen == corner<<4 || seen == corner) {
			sum += 40
		}
	}
	return sum
}
