package engineio

// Held reports whether a poll of the session is being held.
func Held(s *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.poll != nil
}

// EncodePayload writes packets as a polling body, by way of frames.
func EncodePayload(packets []Packet) []byte {
	var frames []Frame
	for _, p := range packets {
		if p.Type == Binary {
			frames = append(frames, NewBinary(p.Data))
		} else {
			frames = append(frames, newFrame(finalText, string(p.Type), p.Data))
		}
	}
	return appendPayload(nil, frames)
}

// RawText frames text as it is.
func RawText(data []byte) Frame { return newFrame(finalText, "", data) }
