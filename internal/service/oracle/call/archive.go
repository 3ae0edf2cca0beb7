package call

import (
	"context"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callopus"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// Archive keeps recordings among the caller's own files, with what the caller
// has delegated and nothing else. It holds no state: any node can go on with a
// recording that another one began.
type Archive interface {
	// Begin opens a recording and names it. It fails with ErrNoGrant.
	Begin(ctx context.Context, p Place) (ref string, err error)
	// Append adds data to a recording that has at bytes. The data is durable when
	// it returns nil; repeating it after a failure adds nothing twice.
	Append(ctx context.Context, p Place, ref string, at int64, data []byte) error
	// Finish makes a file of a recording, and drops one that is empty: kept says
	// which. Repeating it changes nothing. It fails with ErrRecordingGone when
	// there is nothing to finish any more.
	Finish(ctx context.Context, p Place, ref string) (kept bool, err error)
}

// Place is where a recording goes, and with whose leave.
type Place struct {
	Owner string
	// Brought is what came with the call; without it the delegation that the owner has
	// stored counts.
	Brought identity.Brought
	Path    string
}

var (
	// ErrNoGrant says that the caller has not let the oracle write files.
	ErrNoGrant = fault.New(fault.Forbidden, "To record a call the oracle must be allowed to write into your files: sign a delegation of fs/write for "+
		recordingFolder+" (or all your files) to the oracle, send it to POST /delegation, and call again").WithCode("delegation_required")
	// ErrRecordingGone says that a recording waited too long to be finished.
	ErrRecordingGone = fault.New(fault.NotFound, "The recording is gone")
	// errNoArchive says that there is nowhere to record to.
	errNoArchive = fault.New(fault.Invalid, "record must be false: no files are kept here").WithCode("invalid")
)

// RecordingState is how far a recording is.
type RecordingState string

// The states of a recording; a call that is not recorded has none.
const (
	RecordingOn     RecordingState = "on"
	RecordingSaved  RecordingState = "saved"
	RecordingEmpty  RecordingState = "empty"
	RecordingFailed RecordingState = "failed"
)

// Recording is what is known of a call's recording.
type Recording struct {
	State RecordingState
	Path  string
	// Ref is the archive's name for it.
	Ref string
}

// recordingFolder is where recordings go.
const recordingFolder = "/recordings"

// recordingPath names the recording of a call, so that a folder of them is in
// the order of time.
func recordingPath(id string, at time.Time, f RecordingFormat) string {
	return recordingFolder + "/" + at.UTC().Format("2006-01-02 15.04.05") + " " + id[:min(8, len(id))] + f.suffix()
}

// RecordingFormat is what kind of file a recording is.
type RecordingFormat string

// The formats.
const (
	// Ogg is Opus in Ogg: small, and players know its length.
	Ogg RecordingFormat = "ogg"
	// Wave is G.711 in WAVE, for programs that know nothing else.
	Wave RecordingFormat = "wave"
)

func (f RecordingFormat) suffix() string {
	if f == Wave {
		return ".wav"
	}
	return ".ogg"
}

// formatOf is the format of a recording, which its name tells.
func formatOf(path string) RecordingFormat {
	if strings.HasSuffix(path, Wave.suffix()) {
		return Wave
	}
	return Ogg
}

// open begins a file.
func (f RecordingFormat) open() (container, error) {
	if f == Wave {
		return &callsound.Wave{}, nil
	}
	return callopus.NewOgg()
}

// Media is the media type of the recording at a place.
func (p Place) Media() string {
	if formatOf(p.Path) == Wave {
		return "audio/wav"
	}
	return "audio/ogg"
}
