// Package callsound is what calls do with samples: it hears where speech begins
// and ends (Detector), says sound at the pace of time (Speaker), puts two voices
// side by side (Mixer), and changes rates and encodings. It knows nothing of
// calls, networks or speech services, and everything it holds is bounded.
package callsound

import "time"

// HeardRate is the sample rate of what is heard.
const HeardRate = 16000

// SpokenRate is the sample rate of what is said.
const SpokenRate = 48000

// RecordedRate is the sample rate of recordings.
const RecordedRate = 16000

// FrameTime is how much sound is handed over at a time.
const FrameTime = 20 * time.Millisecond

// SpokenFrame is the number of samples that are said at a time.
const SpokenFrame = SpokenRate / 50
