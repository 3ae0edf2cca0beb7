package call_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pion/opus"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callhttp"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// quick stores parts often, so that tests need not wait.
var quick = call.Config{Part: 50 * time.Millisecond}

// recorded makes a call that is recorded.
func recorded(t *testing.T, p *calltest.Page, format ...call.RecordingFormat) {
	t.Helper()
	body := callhttp.CreateBody{SessionID: p.Session, CallType: "audio", Record: true}
	for _, f := range format {
		body.RecordFormat = string(f)
	}
	p.Must(http.StatusCreated, "POST", "/calls", body, &p.Call)
	if p.Call.Recording == nil || !p.Call.Record || p.Call.Recording.State != call.RecordingOn ||
		!strings.HasPrefix(p.Call.Recording.Path, "/recordings/") {
		t.Fatalf("recording: %+v", p.Call.Recording)
	}
}

// becomes waits until the recording of a call has a state.
func becomes(t *testing.T, p *calltest.Page, want call.RecordingState) {
	t.Helper()
	calltest.Eventually(t, "the recording is "+string(want), func() bool {
		p.Must(http.StatusOK, "GET", "/calls/"+p.Call.CallID, nil, &p.Call)
		return p.Call.Recording.State == want
	})
}

// voices are the two of a recording.
func voices(t *testing.T, file []byte) (caller, oracle []int16) {
	t.Helper()
	if bytes.HasPrefix(file, []byte("OggS")) {
		return oggVoices(t, file)
	}
	const header = 46
	if len(file) < header || string(file[:4]) != "RIFF" || binary.LittleEndian.Uint16(file[22:]) != 2 {
		t.Fatalf("%d bytes are no recording", len(file))
	}
	for i := header; i+1 < len(file); i += 2 {
		caller = callsound.FromMuLaw(caller, file[i:i+1])
		oracle = callsound.FromMuLaw(oracle, file[i+1:i+2])
	}
	return caller, oracle
}

// oggVoices decodes the packets of a file, which are all shorter than a page's pieces.
func oggVoices(t *testing.T, file []byte) (caller, oracle []int16) {
	t.Helper()
	d, err := opus.NewDecoderWithOutput(callsound.RecordedRate, 2)
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]int16, 2*callsound.RecordedRate/50)
	for page := 0; len(file) > 27; page++ {
		table := file[27 : 27+int(file[26])]
		file = file[27+len(table):]
		for _, size := range table {
			if page > 1 {
				if _, err := d.DecodeToInt16(file[:size], frame); err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(frame); i += 2 {
					caller, oracle = append(caller, frame[i]), append(oracle, frame[i+1])
				}
			}
			file = file[size:]
		}
	}
	return caller, oracle
}

func loudest(pcm []int16) (most int16) {
	for _, s := range pcm {
		most = max(most, s)
	}
	return most
}

func TestACallIsRecordedWhenAskedAndSaysSo(t *testing.T) {
	t.Parallel()
	for format, suffix := range map[call.RecordingFormat]string{"": ".ogg", call.Ogg: ".ogg", call.Wave: ".wav"} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			recordsACall(t, format, suffix)
		})
	}
}

func recordsACall(t *testing.T, format call.RecordingFormat, suffix string) {
	t.Helper()
	archive := calltest.NewArchive()
	speech := calltest.NewSpeech(t, "what is the weather")
	service := speech.Client(t)
	n := calltest.Start(t, calltest.Setup{Archive: archive, Hearing: service, Voice: service, Call: quick})
	p := calltest.NewPage(t, n, identitytest.Alice)
	recorded(t, p, format)
	if !strings.HasSuffix(p.Call.Recording.Path, suffix) {
		t.Errorf("it is recorded as %s", p.Call.Recording.Path)
	}
	p.Connect()
	if f := p.Await("recording", "state", "on"); f["path"] != p.Call.Recording.Path {
		t.Errorf("the page is told %v", f)
	}
	p.Await("caption", "id", "recording", "final", true)
	if line := <-speech.Begun(); !strings.Contains(line, "recorded") {
		t.Errorf("the notice that is spoken is %q", line)
	}
	p.Talk(2)
	p.Pause(1)
	p.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	p.Await("state", "state", "listening")
	p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})
	becomes(t, p, call.RecordingSaved)
	caller, oracle := voices(t, archive.File(p.Call.Recording.Path))
	if a, b := loudest(caller), loudest(oracle); a < 1000 || b < 5000 {
		t.Errorf("the loudest samples are %d and %d", a, b)
	}
	if archive.Open() != 0 {
		t.Error("a recording is left open")
	}
}

func TestNothingIsRecordedUnlessAsked(t *testing.T) {
	t.Parallel()
	archive := calltest.NewArchive()
	n := calltest.Start(t, calltest.Setup{Archive: archive, Call: quick})
	p := calltest.NewPage(t, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Talk(1)
	p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})
	p.Must(http.StatusOK, "GET", "/calls/"+p.Call.CallID, nil, &p.Call)
	if p.Call.Record || p.Call.Recording != nil || archive.Open() != 0 {
		t.Errorf("recorded: %+v", p.Call.Recording)
	}
}

func TestWithoutLeaveOrFilesNothingIsRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		archive func() call.Archive
		status  int
		says    string
	}{
		"no leave": {func() call.Archive {
			a := calltest.NewArchive()
			a.Fail(call.ErrNoGrant)
			return a
		}, http.StatusForbidden, "POST /delegation"},
		"no files": {func() call.Archive { return nil }, http.StatusBadRequest, "record must be false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := calltest.NewPage(t, calltest.Start(t, calltest.Setup{Archive: c.archive()}), identitytest.Alice)
			status, body := p.Do("POST", "/calls", callhttp.CreateBody{SessionID: p.Session, CallType: "audio", Record: true})
			if status != c.status || !strings.Contains(string(body), c.says) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

func TestACallThatWasNotMadeOrConnectedLeavesNoRecording(t *testing.T) {
	t.Parallel()
	archive := calltest.NewArchive()
	n := calltest.Start(t, calltest.Setup{Archive: archive, Call: call.Config{PerUser: 1}})
	p := calltest.NewPage(t, n, identitytest.Alice)
	recorded(t, p)
	p.Must(http.StatusTooManyRequests, "POST", "/calls",
		callhttp.CreateBody{SessionID: p.Session, CallType: "audio", Record: true}, nil)
	if archive.Open() != 1 {
		t.Errorf("%d recordings are open, want that of the one call", archive.Open())
	}
	p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})
	becomes(t, p, call.RecordingEmpty)
	if archive.Open() != 0 {
		t.Error("a recording is left open")
	}
}

func TestFilesThatAreAwayOrFullCostTheRecordingAndNotTheCall(t *testing.T) {
	t.Parallel()
	archive := calltest.NewArchive()
	n := calltest.Start(t, calltest.Setup{Archive: archive, Call: quick})
	p := calltest.NewPage(t, n, identitytest.Alice)
	recorded(t, p)
	p.Connect()
	p.Await("recording", "state", "on")
	p.Talk(1)
	if err := archive.Stored(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	archive.Fail(errors.New("the network is down")) // this may pass
	p.Talk(1)
	archive.Fail(nil)
	p.Talk(1)
	if err := archive.Stored(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	archive.Fail(fault.New(fault.StorageFull, "There is no room left in your files")) // and this will not
	p.Talk(1)
	if f := p.Await("recording", "state", "failed"); !strings.Contains(f["message"].(string), "no room") {
		t.Errorf("the page is told %v", f)
	}
	p.Await("caption", "id", "unrecorded", "final", true)
	archive.Fail(nil)
	p.Send(map[string]any{"type": "text", "text": "still there?"})
	p.Await("caption", "role", "assistant", "final", true, "text", "Hello. I am here.")
	p.Socket.Ask(t, "call_end", map[string]any{"callId": p.Call.CallID})
	becomes(t, p, call.RecordingSaved) // what there was before
}

// A node that dies takes the last part along; another one makes a file of the rest.
func TestARecordingOutlivesItsNode(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := oracletest.Migrated(t, open(t))
		archive := calltest.NewArchive()
		n := calltest.Start(t,
			calltest.Setup{
				DB: db, Archive: archive, Call: call.Config{Lease: 300 * time.Millisecond, Look: 50 * time.Millisecond},
			})
		p := calltest.NewPage(t, n, identitytest.Alice)
		alice := identitytest.Alice.DID
		place := call.Place{Owner: alice, Path: "/recordings/dead.wav"}
		ref, err := archive.Begin(t.Context(), place)
		if err == nil {
			err = archive.Append(t.Context(), place, ref, 0, []byte("RIFF and so on"))
		}
		dead := call.Record{
			ID: "dead", SessionID: p.Session, Owner: alice, Node: "gone", Type: call.Audio, CreatedAt: time.Now(),
			ExpiresAt: time.Now().Add(time.Hour),
			Recording: call.Recording{State: call.RecordingOn, Path: place.Path, Ref: ref},
		}
		if err == nil {
			err = n.Store.CreateCall(t.Context(), dead, call.Claim{PerUser: 10, TTL: 100 * time.Millisecond})
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Call.CallID = dead.ID
		p.Call.Recording = &callhttp.Recording{}
		becomes(t, p, call.RecordingSaved)
		if string(archive.File(place.Path)) != "RIFF and so on" || archive.Open() != 0 {
			t.Errorf("the file is %q", archive.File(place.Path))
		}
	})
}
