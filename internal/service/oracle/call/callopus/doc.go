// Package callopus is Opus as calls use it: Encoder turns what the oracle says
// into packets that suit the line they go over, Ogg makes files of recordings.
//
// It promises of Ogg that what it has handed out is a file that players know the
// length of, at every moment; and of Encoder, packets of callsound.FrameTime at callsound.SpokenRate, one
// channel, that carry the frame before again where the line loses some, nothing
// at all while nobody speaks, and fewer bits for a line that reports loss. A
// fault of the library costs one frame, never the program. Decoder hears what
// pages send, which may be hostile, and what of it was lost on its way.
package callopus
