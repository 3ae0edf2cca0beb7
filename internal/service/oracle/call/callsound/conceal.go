package callsound

// Concealer fills in for sound that was lost on its way: the last period of the voice
// goes on and fades, which is nearer to what was said than silence, and no click for
// who listens or recognises. It is for one stream at HeardRate.
type Concealer struct {
	history [HeardRate * 30 / 1000]int16
	period  int // of what is made up at the moment
	made    int // samples since the last that were heard
}

const (
	// fadeSamples is how long made up sound lasts: syllables are longer.
	fadeSamples = HeardRate * 60 / 1000
	// joinSamples is how long sound that comes again is mixed with what was made up.
	joinSamples = HeardRate * 4 / 1000
	// compared is how much of what was heard last is looked for in what came before.
	compared = HeardRate * 10 / 1000
)

// Heard takes sound that came, and joins it to what was made up before, in place.
func (c *Concealer) Heard(pcm []int16) {
	if c.made > 0 {
		for i := range min(joinSamples, len(pcm)) {
			pcm[i] = int16((int(pcm[i])*i + int(c.next())*(joinSamples-i)) / joinSamples) //nolint:gosec // between two samples
		}
		c.made = 0
	}
	n := len(c.history)
	if len(pcm) < n {
		copy(c.history[:], c.history[len(pcm):])
		copy(c.history[n-len(pcm):], pcm)
		return
	}
	copy(c.history[:], pcm[len(pcm)-n:])
}

// Lost fills dst with what may have been said.
func (c *Concealer) Lost(dst []int16) {
	if c.made == 0 {
		c.period = c.findPeriod()
	}
	for i := range dst {
		dst[i] = c.next()
	}
}

func (c *Concealer) next() int16 {
	if c.made >= fadeSamples {
		return 0
	}
	s := int(c.history[len(c.history)-c.period+c.made%c.period])
	s = s * (fadeSamples - c.made) / fadeSamples
	c.made++
	return int16(s) //nolint:gosec // smaller than a sample
}

// findPeriod is after how many samples the end of what was heard looks most like
// itself.
func (c *Concealer) findPeriod() int {
	end := c.history[len(c.history)-compared:]
	best, period := 0.0, longestPeriod
	for lag := shortestPeriod; lag <= longestPeriod; lag++ {
		before := c.history[len(c.history)-compared-lag:]
		var product, power float64
		for i, s := range end {
			product += float64(s) * float64(before[i])
			power += float64(before[i]) * float64(before[i])
		}
		if product <= 0 {
			continue
		}
		if alike := product * product / power; alike > best {
			best, period = alike, lag
		}
	}
	return period
}
