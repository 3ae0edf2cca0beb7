package callsound

import "encoding/binary"

// Wave makes a WAVE file of two voices in G.711, left and right. Nobody knows its
// length before its end: as programs that stream write it, it lasts as long as
// the file does.
type Wave struct{ begun bool }

// Add appends what sound makes of the file: the samples of two voices in turn, at
// RecordedRate. The end needs nothing more, and nothing here fails.
func (w *Wave) Add(dst []byte, pcm []int16, _ bool) ([]byte, error) {
	if !w.begun && len(pcm) > 0 {
		w.begun = true
		dst = append(dst, openWAV()...)
	}
	return MuLaw(dst, pcm), nil
}

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
	b = le.AppendUint32(b, RecordedRate)
	b = le.AppendUint32(b, RecordedRate*channels)
	b = le.AppendUint16(b, channels) // bytes of a moment
	b = le.AppendUint16(b, 8)        // bits of a sample
	b = le.AppendUint16(b, 0)        // nothing more about the format
	b = append(b, "data"...)
	return le.AppendUint32(b, unknown)
}
