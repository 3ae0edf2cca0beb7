package callsound

import (
	"cmp"
	"math"
	"slices"
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
	// Hangover is how long silence must last to end an utterance, unless EndAfter
	// says otherwise: 600 ms.
	Hangover time.Duration
	// Pause is how long silence must last for what was said so far to be looked at:
	// 160 ms.
	Pause time.Duration
	// Lead is how much sound before the start belongs to an utterance: 240 ms.
	Lead time.Duration
	// Shortest is the least speech in an utterance that is worth hearing: 160 ms.
	Shortest time.Duration
	// Longest is when an utterance is cut: 30 s.
	Longest time.Duration
	// Notice is how much voice is taken for somebody who begins to speak: 100 ms.
	// Keys, knocks and fans are loud but have none.
	Notice time.Duration
	// Insist is how much of it is surely a voice, 160 ms, and Beyond how much speech
	// must follow that to be no cough and no "mhm" any more: 400 ms.
	Insist, Beyond time.Duration
}

func (c DetectorConfig) withDefaults() DetectorConfig {
	c.Margin = cmp.Or(c.Margin, 9)
	c.Floor = cmp.Or(c.Floor, -50)
	c.Attack = cmp.Or(c.Attack, 80*time.Millisecond)
	c.Hangover = cmp.Or(c.Hangover, 600*time.Millisecond)
	c.Pause = cmp.Or(c.Pause, 160*time.Millisecond)
	c.Lead = cmp.Or(c.Lead, 240*time.Millisecond)
	c.Shortest = cmp.Or(c.Shortest, 160*time.Millisecond)
	c.Longest = cmp.Or(c.Longest, 30*time.Second)
	c.Notice = cmp.Or(c.Notice, 100*time.Millisecond)
	c.Insist = cmp.Or(c.Insist, 160*time.Millisecond)
	c.Beyond = cmp.Or(c.Beyond, 400*time.Millisecond)
	return c
}

// Detection is what a Detector found in a piece of sound.
type Detection struct {
	// Speech is what belongs to an utterance of the piece, with the lead where the
	// utterance Begins; it is only lent.
	Speech []int16
	Begins bool
	// Noticed says that what is heard is a voice, and Insists that it goes on, each
	// once in an utterance.
	Noticed, Insists bool
	// Pause is what was said so far, once in each silence that may be the end; its
	// slice is the caller's. GoesOn says that it was not the end.
	Pause  []int16
	GoesOn bool
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
	noticed bool
	sure    bool          // it is a voice
	since   time.Duration // how much speech there was when that was known
	insists bool
	speech  bool
	paused  bool          // the present silence was told
	endAt   time.Duration // the silence that ends the utterance
	sound   []int16       // the lead while quiet, the utterance while not
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

// EndAfter says how long the present silence must last to end the utterance: who
// has understood what was said knows better than the clock.
func (d *Detector) EndAfter(silence time.Duration) {
	if d.paused {
		d.endAt = silence
	}
}

// Reset forgets what was heard, but not how loud the background is.
func (d *Detector) Reset() {
	d.loud, d.quiet, d.voiced, d.speech = 0, 0, 0, false
	d.sung, d.noticed, d.sure, d.insists, d.paused = 0, false, false, false, false
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
	speech, begins := pcm, !d.speech
	if begins {
		if !d.wait(isLoud, length) {
			return Detection{}
		}
		speech = d.sound
	}
	noticed := !d.noticed && d.sung >= d.cfg.Notice
	if !d.sure && d.sung >= d.cfg.Insist {
		d.sure, d.since = true, d.voiced
	}
	insists := d.sure && !d.insists && d.voiced-d.since >= d.cfg.Beyond
	d.noticed, d.insists = d.noticed || noticed, d.insists || insists
	found := d.goOn(isLoud, length)
	found.Noticed, found.Insists = noticed, insists
	found.Speech, found.Begins = speech, begins
	return found
}

// listen notes how much of what was heard lately has a pitch, until that was
// enough: to look for one is most of what hearing costs.
func (d *Detector) listen(isLoud bool, length time.Duration) {
	if d.sure {
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
	var found Detection
	if isLoud {
		found.GoesOn = d.paused
		d.quiet, d.paused, d.endAt = 0, false, d.cfg.Hangover
		d.voiced += length
	} else {
		d.quiet += length
	}
	if !d.paused && d.quiet >= d.cfg.Pause && d.voiced >= d.cfg.Shortest {
		d.paused = true
		found.Pause = slices.Clone(d.sound)
	}
	if d.quiet < d.endAt && len(d.sound) < samples(d.cfg.Longest) {
		return found
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
	d.speech, d.voiced, d.quiet, d.endAt = true, d.loud-length, 0, d.cfg.Hangover
	return true
}

func (d *Detector) end() Detection {
	said, silence := d.sound, samples(d.quiet/2)
	enough := d.voiced >= d.cfg.Shortest
	d.sound = nil
	d.Reset()
	if !enough {
		return Detection{Nothing: true}
	}
	return Detection{Utterance: said[:len(said)-silence]} // the end of the silence tells nothing
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
