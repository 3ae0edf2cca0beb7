package call

import (
	"encoding/binary"
	"time"
)

// Bounds of what a mixer holds, in samples.
const (
	// mixSlack is how much a voice may jump on the network before silence is put
	// in its place.
	mixSlack = SpokenRate / 10
	// mixHold is how long a moment stays open for sound that is on its way.
	mixHold = SpokenRate / 2
	// mixAhead is how far a voice may run ahead of time; more of it is dropped.
	mixAhead = 5 * SpokenRate
	// mixGap is the longest silence: a machine that slept is no part of the call.
	mixGap = 60 * SpokenRate
)

// mixer puts the two voices of a call side by side as they sounded: the caller
// left, the oracle right. Where nobody spoke there is silence.
type mixer struct {
	began  time.Time // when the first sound came
	cut    int64     // samples that were handed out
	voices [2][]int16
	lower  *resampler // of the caller's voice
	low    []int16
}

// The voices.
const (
	callersVoice = iota
	oraclesVoice
)

func newMixer() *mixer { return &mixer{lower: newResampler(HeardRate)} }

// heard takes the caller's sound, at HeardRate.
func (m *mixer) heard(pcm []int16, now time.Time) {
	m.low = m.lower.add(m.low[:0], pcm)
	m.add(callersVoice, m.low, now)
}

// said takes the oracle's, at SpokenRate.
func (m *mixer) said(pcm []int16, now time.Time) { m.add(oraclesVoice, pcm, now) }

// elapsed is how many samples a moment is after the beginning.
func (m *mixer) elapsed(now time.Time) int64 {
	if m.began.IsZero() {
		return 0
	}
	at := int64(now.Sub(m.began) * SpokenRate / time.Second)
	if over := at - m.cut - mixGap; over > 0 {
		m.began = m.began.Add(time.Duration(over) * time.Second / SpokenRate)
		at -= over
	}
	return at
}

func (m *mixer) add(voice int, pcm []int16, now time.Time) {
	if m.began.IsZero() {
		m.began = now
	}
	at := m.cut + int64(len(m.voices[voice]))
	due := m.elapsed(now)
	if at-due > mixAhead {
		return
	}
	if start := due - int64(len(pcm)); start-at > mixSlack {
		m.pad(voice, start)
	}
	m.voices[voice] = append(m.voices[voice], pcm...)
}

// pad puts silence into a voice up to a sample.
func (m *mixer) pad(voice int, upTo int64) {
	if missing := upTo - m.cut - int64(len(m.voices[voice])); missing > 0 {
		m.voices[voice] = append(m.voices[voice], make([]int16, missing)...)
	}
}

// take appends what is complete as G.711, both voices in turn; at the end,
// everything.
func (m *mixer) take(dst []byte, now time.Time, end bool) []byte {
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
		dst = append(dst, muLaw(m.voices[callersVoice][i]), muLaw(m.voices[oraclesVoice][i]))
	}
	for voice, pcm := range m.voices {
		m.voices[voice] = append(pcm[:0], pcm[n:]...)
	}
	m.cut = upTo
	return dst
}

// openWAV is the beginning of a WAVE file of two voices in G.711 whose length
// nobody knows yet: as programs that stream write it, it lasts as long as the
// file does.
func openWAV() []byte {
	const (
		unknown  = 0xffffffff
		channels = 2
		muLawTag = 7
	)
	le := binary.LittleEndian
	b := []byte("RIFF")
	b = le.AppendUint32(b, unknown)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 18)
	b = le.AppendUint16(b, muLawTag)
	b = le.AppendUint16(b, channels)
	b = le.AppendUint32(b, SpokenRate)
	b = le.AppendUint32(b, SpokenRate*channels)
	b = le.AppendUint16(b, channels) // bytes of a moment
	b = le.AppendUint16(b, 8)        // bits of a sample
	b = le.AppendUint16(b, 0)        // nothing more about the format
	b = append(b, "data"...)
	return le.AppendUint32(b, unknown)
}
