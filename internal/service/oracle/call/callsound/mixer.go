package callsound

import "time"

// Bounds of what a Mixer holds, in samples.
const (
	// mixSlack is how much a voice may jump on the network before silence is put
	// in its place.
	mixSlack = RecordedRate / 10
	// mixHold is how long a moment stays open for sound that is on its way.
	mixHold = RecordedRate / 2
	// mixAhead is how far a voice may run ahead of time; more of it is dropped.
	mixAhead = 5 * RecordedRate
	// mixGap is the longest silence: a machine that slept is no part of the call.
	mixGap = 60 * RecordedRate
)

// Mixer puts the two voices of a call side by side as they sounded: the caller
// left, the oracle right. Where nobody spoke there is silence.
type Mixer struct {
	began  time.Time // when the first sound came
	cut    int64     // samples that were handed out
	voices [2][]int16
	lower  [2]*Resampler
	low    []int16
}

// The voices.
const (
	callersVoice = iota
	oraclesVoice
)

// NewMixer returns a mixer that has heard nothing.
func NewMixer() *Mixer {
	return &Mixer{lower: [2]*Resampler{
		callersVoice: NewResampler(HeardRate, RecordedRate), oraclesVoice: NewResampler(SpokenRate, RecordedRate),
	}}
}

// Heard takes the caller's sound, at HeardRate.
func (m *Mixer) Heard(pcm []int16, now time.Time) { m.add(callersVoice, pcm, now) }

// Said takes the oracle's, at SpokenRate.
func (m *Mixer) Said(pcm []int16, now time.Time) { m.add(oraclesVoice, pcm, now) }

// elapsed is how many samples a moment is after the beginning.
func (m *Mixer) elapsed(now time.Time) int64 {
	if m.began.IsZero() {
		return 0
	}
	at := int64(now.Sub(m.began) * RecordedRate / time.Second)
	if over := at - m.cut - mixGap; over > 0 {
		m.began = m.began.Add(time.Duration(over) * time.Second / RecordedRate)
		at -= over
	}
	return at
}

func (m *Mixer) add(voice int, pcm []int16, now time.Time) {
	if m.began.IsZero() {
		m.began = now
	}
	at := m.cut + int64(len(m.voices[voice]))
	due := m.elapsed(now)
	if at-due > mixAhead {
		return
	}
	m.low = m.lower[voice].Add(m.low[:0], pcm)
	pcm = m.low
	if start := due - int64(len(pcm)); start-at > mixSlack {
		m.pad(voice, start)
	}
	m.voices[voice] = append(m.voices[voice], pcm...)
}

// pad puts silence into a voice up to a sample.
func (m *Mixer) pad(voice int, upTo int64) {
	if missing := upTo - m.cut - int64(len(m.voices[voice])); missing > 0 {
		m.voices[voice] = append(m.voices[voice], make([]int16, missing)...)
	}
}

// Take appends what is complete, a sample of each voice in turn; at the end,
// everything.
func (m *Mixer) Take(dst []int16, now time.Time, end bool) []int16 {
	upTo := m.elapsed(now) - mixHold
	if end {
		upTo = m.cut + int64(max(len(m.voices[callersVoice]), len(m.voices[oraclesVoice])))
	}
	n := int(upTo - m.cut)
	if n <= 0 {
		return dst
	}
	for voice := range m.voices {
		m.pad(voice, upTo)
	}
	for i := range n {
		dst = append(dst, m.voices[callersVoice][i], m.voices[oraclesVoice][i])
	}
	for voice, pcm := range m.voices {
		m.voices[voice] = append(pcm[:0], pcm[n:]...)
	}
	m.cut = upTo
	return dst
}
