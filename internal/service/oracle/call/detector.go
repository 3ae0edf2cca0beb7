package call

import (
	"math"
	"time"
)

// DetectorConfig tunes a Detector. Zero values mean the defaults.
type DetectorConfig struct {
	// Margin is how much louder than the background speech is: 9 dB.
	Margin float64
	// Floor is the loudness below which nothing is speech: -50 dB of full scale.
	Floor float64
	// Attack is how long sound must last to count as speech: 80 ms.
	Attack time.Duration
	// Hangover is how long silence must last to end an utterance: 600 ms.
	Hangover time.Duration
	// Lead is how much sound before the start belongs to an utterance: 240 ms.
	Lead time.Duration
	// Shortest is the least speech in an utterance that is worth hearing: 160 ms.
	Shortest time.Duration
	// Longest is when an utterance is cut: 30 s.
	Longest time.Duration
	// Insist is how much voice it takes to interrupt: 160 ms. Keys, knocks and
	// fans are loud but have none.
	Insist time.Duration
}

func (c DetectorConfig) withDefaults() DetectorConfig {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Margin == 0 {
		c.Margin = 9
	}
	if c.Floor == 0 {
		c.Floor = -50
	}
	def(&c.Attack, 80*time.Millisecond)
	def(&c.Hangover, 600*time.Millisecond)
	def(&c.Lead, 240*time.Millisecond)
	def(&c.Shortest, 160*time.Millisecond)
	def(&c.Longest, 30*time.Second)
	def(&c.Insist, 160*time.Millisecond)
	return c
}

// Detection is what a Detector found in a piece of sound.
type Detection struct {
	// Insists says that what is heard is a voice, once in an utterance.
	Insists bool
	// Utterance is what was said, when it has ended; its slice is the caller's.
	Utterance []int16
	// Nothing says that what began like an utterance was too short to be one.
	Nothing bool
}

// Detector finds speech by its energy: what is clearly louder than the
// background for a while, until it has been quiet for a while. The background
// is the quietest moment of the last seconds: nobody speaks so long without a
// pause, while a fan or a hum has none. Whether it is a voice, and not something
// else that is loud, is told by its pitch.
type Detector struct {
	cfg     DetectorConfig
	levels  [backgroundPieces]float64 // dB of full scale, a ring
	heard   int
	loud    time.Duration
	quiet   time.Duration
	voiced  time.Duration
	sung    time.Duration // with a pitch, lately
	insists bool
	speech  bool
	sound   []int16 // the lead while quiet, the utterance while not
	leadCap int
}

// NewDetector makes a Detector for sound at HeardRate.
func NewDetector(cfg DetectorConfig) *Detector {
	cfg = cfg.withDefaults()
	return &Detector{cfg: cfg, leadCap: samples(cfg.Lead + cfg.Attack)}
}

// The pieces of sound, FrameTime each, in which the background is looked for,
// and the first ones, which only tell how loud it is.
const (
	backgroundPieces = 150
	learnPieces      = 15
)

func samples(d time.Duration) int { return int(d * HeardRate / time.Second) }

// Speaking reports whether an utterance is going on.
func (d *Detector) Speaking() bool { return d.speech }

// Reset forgets what was heard, but not how loud the background is.
func (d *Detector) Reset() {
	d.loud, d.quiet, d.voiced, d.speech = 0, 0, 0, false
	d.sung, d.insists = 0, false
	d.sound = d.sound[:0]
}

// Feed takes the next piece of sound.
func (d *Detector) Feed(pcm []int16) Detection {
	if len(pcm) == 0 {
		return Detection{}
	}
	length := time.Duration(len(pcm)) * time.Second / HeardRate
	level := loudness(pcm)
	background := d.background(level)
	isLoud := d.heard > learnPieces && level > d.cfg.Floor && level > background+d.cfg.Margin
	d.sound = append(d.sound, pcm...)
	d.listen(isLoud, length)
	if !d.speech && !d.wait(isLoud, length) {
		return Detection{}
	}
	insists := !d.insists && d.sung >= d.cfg.Insist
	d.insists = d.insists || insists
	found := d.goOn(isLoud, length)
	found.Insists = insists
	return found
}

// listen notes how much of what was heard lately has a pitch, until that was
// enough: to look for one is most of what hearing costs.
func (d *Detector) listen(isLoud bool, length time.Duration) {
	if d.insists {
		return
	}
	if isLoud && pitched(d.sound[max(0, len(d.sound)-pitchWindow):]) {
		d.sung += length
	} else {
		d.sung = max(0, d.sung-length/2)
	}
}

// goOn follows an utterance to its end.
func (d *Detector) goOn(isLoud bool, length time.Duration) Detection {
	if isLoud {
		d.quiet = 0
		d.voiced += length
	} else {
		d.quiet += length
	}
	if d.quiet < d.cfg.Hangover && len(d.sound) < samples(d.cfg.Longest) {
		return Detection{}
	}
	return d.end()
}

// wait looks for the beginning of an utterance, keeping only a lead.
func (d *Detector) wait(isLoud bool, length time.Duration) (begun bool) {
	if isLoud {
		d.loud += length
	} else {
		d.loud = max(0, d.loud-length)
	}
	if over := len(d.sound) - d.leadCap; over > 0 {
		d.sound = append(d.sound[:0], d.sound[over:]...)
	}
	if d.loud < d.cfg.Attack {
		return false
	}
	d.speech, d.voiced, d.quiet = true, d.loud-length, 0
	return true
}

func (d *Detector) end() Detection {
	said := d.sound
	enough := d.voiced >= d.cfg.Shortest
	d.sound = nil
	d.Reset()
	if !enough {
		return Detection{Nothing: true}
	}
	if keep := samples(d.cfg.Hangover / 2); len(said) > 2*keep { // the end of the silence tells nothing
		said = said[:len(said)-keep]
	}
	return Detection{Utterance: said}
}

// background is the quietest of the last pieces, this one included.
func (d *Detector) background(level float64) float64 {
	d.levels[d.heard%len(d.levels)] = level
	d.heard++
	lowest := level
	for _, l := range d.levels[:min(d.heard, len(d.levels))] {
		lowest = min(lowest, l)
	}
	return lowest
}

// quietest stands for digital silence.
const quietest = -90

// loudness is the energy of sound in dB of full scale.
func loudness(pcm []int16) float64 {
	sum := 0.0
	for _, s := range pcm {
		sum += float64(s) * float64(s)
	}
	rms := math.Sqrt(sum/float64(len(pcm))) / math.MaxInt16
	if rms <= 0 {
		return quietest
	}
	return max(quietest, 20*math.Log10(rms))
}
