package callsignal

// The frames of the data channel to the page.
type (
	// HelloFrame comes first.
	HelloFrame struct {
		Type   string      `json:"type"`
		CallID string      `json:"callId"`
		Speech SpeechState `json:"speech"`
	}
	// CaptionFrame is what was said, by either.
	CaptionFrame struct {
		Type  string `json:"type"`
		ID    string `json:"id"`
		Role  string `json:"role"`
		Text  string `json:"text"`
		Final bool   `json:"final"`
		// Seen says that the oracle looked at the caller's picture with it.
		Seen bool `json:"seen,omitempty"`
	}
	// StateFrame tells what the oracle does.
	StateFrame struct {
		Type  string `json:"type"`
		State string `json:"state"`
	}
	// PongFrame answers a ping.
	PongFrame struct {
		Type string `json:"type"`
		T    any    `json:"t,omitempty"`
	}
	// ErrorFrame tells what failed.
	ErrorFrame struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// RecordingFrame tells whether the call is recorded.
	RecordingFrame struct {
		Type    string `json:"type"`
		State   string `json:"state"`
		Path    string `json:"path,omitempty"`
		Message string `json:"message,omitempty"`
	}
	// ByeFrame comes last.
	ByeFrame struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	}
)

// SpeechState tells which halves of speech a deployment has.
type SpeechState struct {
	STT bool `json:"stt"`
	TTS bool `json:"tts"`
}
