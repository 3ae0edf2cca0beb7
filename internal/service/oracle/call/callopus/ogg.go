package callopus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/thesyncim/gopus"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

const (
	// recordedBits is enough for two voices that stay apart.
	recordedBits = 40000
	// recordedFrame is the number of moments in a packet, of two samples each.
	recordedFrame = callsound.RecordedRate / 50
	// granules is how many of a file's ticks, at 48 kHz, a moment has.
	granules = 48000 / callsound.RecordedRate
	// pagePackets is a second: what is not on a page yet is lost with the node.
	pagePackets = 50
	// maxSegments is how many pieces a page can have, each of at most segment bytes.
	maxSegments = 255
	segment     = 255
)

// The kinds of pages.
const (
	firstPage = 2
	lastPage  = 4
)

// Ogg makes an Ogg Opus file (RFC 7845) of two voices, left and right. What it
// has handed out is a whole file at every moment, and each page says how long the
// file is up to there, so that players know the length of a file that was cut.
type Ogg struct {
	enc    *gopus.Encoder
	serial uint32
	pages  uint32
	begun  bool
	skip   int64 // granules before the sound begins: the encoder looks ahead

	rest    []int16 // less than a packet
	moments int64   // of sound that were encoded or rest

	granule int64 // of the last packet
	packets int   // on the page that is being made
	table   []byte
	body    []byte
	out     [maxPacket]byte
}

// NewOgg returns a file without sound.
func NewOgg() (*Ogg, error) {
	enc, err := gopus.NewEncoder(gopus.EncoderConfig{
		SampleRate: callsound.RecordedRate, Channels: 2, Application: gopus.ApplicationVoIP,
	})
	if err != nil {
		return nil, fmt.Errorf("make Opus encoder: %w", err)
	}
	if err := errors.Join(enc.SetFrameSize(recordedFrame), enc.SetComplexity(complexity), enc.SetSignal(gopus.SignalVoice),
		enc.SetBitrate(recordedBits)); err != nil {
		return nil, fmt.Errorf("set up Opus encoder: %w", err)
	}
	//nolint:gosec // a number of a stream is no secret
	return &Ogg{enc: enc, serial: rand.Uint32(), skip: int64(enc.Lookahead()) * granules}, nil
}

// Add appends pages with the packets that sound makes whole: the samples of two
// voices in turn, at callsound.RecordedRate. At the end, everything; nothing may
// follow.
func (o *Ogg) Add(dst []byte, pcm []int16, end bool) (_ []byte, err error) {
	before := len(dst)
	defer func() {
		if recover() != nil { // a fault of the library must not end the program
			dst, err = dst[:before], errEncoder
		}
	}()
	if !o.begun && len(pcm) > 0 {
		o.begun = true
		dst = o.begin(dst)
	}
	o.moments += int64(len(pcm) / 2)
	o.rest = append(o.rest, pcm...)
	for len(o.rest) >= 2*recordedFrame {
		if dst, err = o.encode(dst, o.rest[:2*recordedFrame]); err != nil {
			return dst[:before], err
		}
		o.rest = append(o.rest[:0], o.rest[2*recordedFrame:]...)
	}
	switch {
	case end && o.begun:
		return o.finish(dst)
	case o.packets > 0: // whoever dies now loses no packet that was made
		dst = o.page(dst, 0, o.granule)
	}
	return dst, nil
}

// finish encodes what the encoder still holds, and says where the sound ends.
func (o *Ogg) finish(dst []byte) ([]byte, error) {
	total := o.skip + o.moments*granules
	var err error
	for o.granule < total {
		frame := make([]int16, 2*recordedFrame)
		copy(frame, o.rest)
		o.rest = o.rest[:0]
		if dst, err = o.encode(dst, frame); err != nil {
			return dst, err
		}
	}
	return o.page(dst, lastPage, total), nil
}

// encode puts a packet on the page.
func (o *Ogg) encode(dst []byte, pcm []int16) ([]byte, error) {
	n, err := o.enc.EncodeInt16(pcm, o.out[:])
	if err != nil {
		return dst, fmt.Errorf("encode Opus: %w", err)
	}
	if o.packets == pagePackets || len(o.table)+n/segment+1 > maxSegments {
		dst = o.page(dst, 0, o.granule)
	}
	o.put(o.out[:n])
	o.granule += recordedFrame * granules
	return dst, nil
}

// put lays a packet on the page.
func (o *Ogg) put(packet []byte) {
	for n := len(packet); ; n -= segment {
		o.table = append(o.table, byte(min(n, segment))) //nolint:gosec // a segment is at most 255 bytes
		if n < segment {
			break
		}
	}
	o.body = append(o.body, packet...)
	o.packets++
}

// begin appends the two pages that say what follows.
func (o *Ogg) begin(dst []byte) []byte {
	le := binary.LittleEndian
	head := append([]byte("OpusHead"), 1, 2)     // the version, two channels
	head = le.AppendUint16(head, uint16(o.skip)) //nolint:gosec // some milliseconds
	head = le.AppendUint32(head, callsound.RecordedRate)
	head = append(head, 0, 0, 0) // as loud as it is, left and right
	o.put(head)
	dst = o.page(dst, firstPage, 0)
	const maker = "castalia"
	tags := le.AppendUint32([]byte("OpusTags"), uint32(len(maker)))
	tags = append(tags, maker...)
	o.put(le.AppendUint32(tags, 0)) // no remarks
	return o.page(dst, 0, 0)
}

// page appends the page that is being made, and begins another.
func (o *Ogg) page(dst []byte, kind byte, granule int64) []byte {
	const sumAt = 22
	le := binary.LittleEndian
	start := len(dst)
	dst = append(dst, "OggS"...)
	dst = append(dst, 0, kind)
	dst = le.AppendUint64(dst, uint64(granule)) //nolint:gosec // never negative
	dst = le.AppendUint32(dst, o.serial)
	dst = le.AppendUint32(dst, o.pages)
	dst = le.AppendUint32(dst, 0)
	dst = append(dst, byte(len(o.table))) //nolint:gosec // at most maxSegments
	dst = append(dst, o.table...)
	dst = append(dst, o.body...)
	le.PutUint32(dst[start+sumAt:], checksum(dst[start:]))
	o.pages++
	o.packets, o.table, o.body = 0, o.table[:0], o.body[:0]
	return dst
}

// checksum is the CRC of Ogg: that of Ethernet with its bits the other way round.
func checksum(data []byte) uint32 {
	sum := uint32(0)
	for _, b := range data {
		sum ^= uint32(b) << 24
		for range 8 {
			carry := sum >> 31
			sum = sum<<1 ^ carry*0x04c11db7
		}
	}
	return sum
}
