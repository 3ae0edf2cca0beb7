package callrtc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"sync"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4/pkg/media/samplebuilder"
	"golang.org/x/image/draw"
	"golang.org/x/image/vp8"
)

// Bounds of a look at the page's video.
const (
	// maxPixels and maxSide are what is decoded, and what is shown of it.
	maxPixels = 4 << 20
	maxSide   = 1024
	// darkest is a picture in which nothing is seen: a camera that is off.
	darkest = 40
	// lookAgain is how long a key frame may take until it is asked for again.
	lookAgain = 300 * time.Millisecond
)

var (
	errNoVideo   = errors.New("there is no video")
	errNoPicture = errors.New("the frame cannot be shown")
	errDark      = errors.New("the picture is dark")
)

// gaze hands key frames to whoever waits for one.
type gaze struct {
	mu      sync.Mutex
	waiting []chan []byte
	whole   *samplebuilder.SampleBuilder // while somebody waits
}

// await returns a channel for the next key frame, and how to give up.
func (g *gaze) await() (<-chan []byte, func()) {
	next := make(chan []byte, 1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, next)
	return next, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for i, w := range g.waiting {
			if w == next {
				g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
				break
			}
		}
		if len(g.waiting) == 0 {
			g.whole = nil
		}
	}
}

// packet looks at a packet of video that is not sealed.
func (g *gaze) packet(p *rtp.Packet) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return
	}
	if g.whole == nil {
		g.whole = samplebuilder.New(maxLate, &codecs.VP8Packet{}, 90000)
	}
	whole := g.whole // hand forgets it when everybody has seen enough
	whole.Push(p.Clone())
	for s := whole.Pop(); s != nil; s = whole.Pop() {
		g.hand(s.Data)
	}
}

// frame looks at a whole frame.
func (g *gaze) frame(data []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hand(data)
}

// hand gives a key frame to all who wait. The lock is held.
func (g *gaze) hand(data []byte) {
	if len(g.waiting) == 0 || len(data) == 0 || data[0]&1 != 0 {
		return
	}
	for _, w := range g.waiting {
		w <- bytes.Clone(data)
	}
	g.waiting, g.whole = nil, nil
}

// Look implements call.Peer.
func (p *peer) Look(ctx context.Context) ([]byte, error) {
	if p.picture == nil || p.picture.source.Load() == 0 {
		return nil, errNoVideo
	}
	next, stop := p.picture.gaze.await()
	defer stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	p.picture.wantsKeyFrame()
	for {
		select {
		case frame := <-next:
			return snapshot(frame)
		case <-again.C:
			p.picture.wantsKeyFrame()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// snapshot makes a JPEG picture of a VP8 key frame.
func snapshot(frame []byte) (picture []byte, err error) {
	defer func() {
		if recover() != nil { // a hostile frame must not end the program
			picture, err = nil, errNoPicture
		}
	}()
	const header = 10
	if len(frame) < header || frame[0]&1 != 0 || !bytes.Equal(frame[3:6], []byte{0x9d, 0x01, 0x2a}) {
		return nil, errNoPicture
	}
	w, h := int(binary.LittleEndian.Uint16(frame[6:])&0x3fff), int(binary.LittleEndian.Uint16(frame[8:])&0x3fff)
	if w == 0 || h == 0 || w*h > maxPixels {
		return nil, errNoPicture
	}
	d := vp8.NewDecoder()
	d.Init(bytes.NewReader(frame), len(frame))
	if _, err := d.DecodeFrameHeader(); err != nil {
		return nil, errNoPicture
	}
	seen, err := d.DecodeFrame()
	if err != nil {
		return nil, errNoPicture
	}
	if dark(seen) {
		return nil, errDark
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, shrink(seen), &jpeg.Options{Quality: 80}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func dark(m *image.YCbCr) bool {
	for y := range m.Rect.Dy() {
		for _, v := range m.Y[y*m.YStride:][:m.Rect.Dx()] {
			if v > darkest {
				return false
			}
		}
	}
	return true
}

// shrink makes a picture no larger than models look at.
func shrink(m *image.YCbCr) image.Image {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	longest := max(w, h)
	if longest <= maxSide {
		return m
	}
	small := image.NewRGBA(image.Rect(0, 0, max(1, w*maxSide/longest), max(1, h*maxSide/longest)))
	draw.ApproxBiLinear.Scale(small, small.Rect, m, m.Rect, draw.Src, nil)
	return small
}
