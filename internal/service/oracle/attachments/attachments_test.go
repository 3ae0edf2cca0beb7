package attachments_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"maunium.net/go/mautrix/crypto/attachment"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// homeserver answers as Synapse does, for one user and a few files.
type homeserver struct {
	user  string
	files map[string][]byte
	// events by id, as JSON.
	events map[string]string
}

func (h *homeserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer syt_good" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid access token passed.","soft_logout":false}`))
		return
	}
	switch p := r.URL.Path; {
	case p == "/_matrix/client/v3/account/whoami":
		_, _ = fmt.Fprintf(w, `{"user_id":%q,"device_id":"D","is_guest":false}`, h.user)
	case strings.HasPrefix(p, "/_matrix/client/v1/media/download/"):
		data, ok := h.files[p[strings.LastIndex(p, "/")+1:]]
		if !ok {
			break
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", "attachment; filename=x")
		_, _ = w.Write(data)
		return
	case strings.Contains(p, "/event/"):
		ev, ok := h.events[p[strings.LastIndex(p, "/")+1:]]
		if !ok {
			break
		}
		_, _ = w.Write([]byte(ev))
		return
	}
	if r.URL.Path != "/_matrix/client/v3/account/whoami" {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"errcode":"M_NOT_FOUND","error":"Not found"}`))
	}
}

// documents stands in for what reads documents apart.
func documents(_ context.Context, owner string, data []byte, _ int) (string, error) {
	if bytes.HasPrefix(data, []byte("%PDF-")) && owner == "did:key:alice" {
		return "Bees dance", nil
	}
	return "", fault.New(fault.Invalid, "files of this kind cannot be read as text")
}

func TestFetch(t *testing.T) {
	t.Parallel()
	h := &homeserver{files: map[string][]byte{}, events: map[string]string{}}
	web := httptest.NewServer(h)
	defer web.Close()
	host := strings.TrimPrefix(web.URL, "http://")
	h.user = "@alice:" + host
	sealed := attachment.NewEncryptedFile()
	secret := []byte("a secret text")
	sealed.EncryptInPlace(secret)
	described, err := json.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	var file oracle.EncryptedFile
	if err := json.Unmarshal(described, &file); err != nil {
		t.Fatal(err)
	}
	file.URL = "mxc://" + host + "/sealed"
	h.files["text"] = []byte("# Notes\n\nplain text")
	h.files["pdf"] = []byte("%PDF-1.4")
	h.files["png"] = []byte("\x89PNG\r\n\x1a\n0000")
	h.files["zip"] = []byte("PK\x03\x04....")
	h.files["big"] = bytes.Repeat([]byte("x"), 2000)
	h.files["sealed"] = secret
	h.files["broken"] = append([]byte{secret[0] ^ 1}, secret[1:]...)
	h.events["$plain"] = `{"type":"m.room.message","event_id":"$plain","room_id":"!r:x","sender":"@a:x","content":{"msgtype":"m.file","body":"n.md","url":"mxc://` + host + `/text"}}`
	h.events["$megolm"] = `{"type":"m.room.encrypted","event_id":"$megolm","room_id":"!r:x","sender":"@a:x","content":{"algorithm":"m.megolm.v1.aes-sha2","ciphertext":"x"}}`
	broken := file
	broken.URL = "mxc://" + host + "/broken"
	f := attachments.New(attachments.Config{AllowPrivate: true, MaxFile: 1000, MaxTotal: 5000, Documents: documents})
	mxc := func(name string) oracle.Attachment {
		return oracle.Attachment{Filename: name, Mimetype: "x/y", MxcURI: "mxc://" + host + "/" + name}
	}
	query := turn.AttachmentQuery{Owner: "did:key:alice", HomeServer: web.URL, MatrixToken: "syt_good", RoomID: "!r:x"}
	for name, c := range map[string]struct {
		file oracle.Attachment
		want string // in the text or the note
	}{
		"text":      {mxc("text"), "plain text"},
		"pdf":       {mxc("pdf"), "Bees dance"},
		"picture":   {mxc("png"), "[picture]"},
		"archive":   {mxc("zip"), "cannot be read as text"},
		"too large": {mxc("big"), "too large"},
		"absent":    {mxc("nobody"), "does not have it"},
		"sealed":    {oracle.Attachment{MxcURI: file.URL, File: &file}, "a secret text"},
		"changed":   {oracle.Attachment{MxcURI: broken.URL, File: &broken}, "hash does not match"},
		"event":     {oracle.Attachment{EventID: "$plain"}, "plain text"},
		"megolm":    {oracle.Attachment{EventID: "$megolm"}, "encrypted"},
		"bad uri":   {oracle.Attachment{MxcURI: "mxc://"}, "not valid"},
	} {
		query.Attachments = []oracle.Attachment{c.file}
		got, images := f.Fetch(t.Context(), query)
		if all := got[0].Text + got[0].Note; !strings.Contains(all, c.want) {
			t.Errorf("%s: %q", name, all)
		}
		if (name == "picture") != (len(images) == 1) {
			t.Errorf("%s: %d pictures", name, len(images))
		}
	}
	query.Attachments = []oracle.Attachment{mxc("text")}
	for name, change := range map[string]func(q *turn.AttachmentQuery){
		"did not accept": func(q *turn.AttachmentQuery) { q.MatrixToken = "bad" },
		"no Matrix":      func(q *turn.AttachmentQuery) { q.MatrixToken = "" },
		"not an address": func(q *turn.AttachmentQuery) { q.HomeServer = "http://" },
	} {
		q := query
		change(&q)
		if got, _ := f.Fetch(t.Context(), q); !strings.Contains(got[0].Note, name) {
			t.Errorf("%s: %q", name, got[0].Note)
		}
	}
}

// The token is not used at a server that is not the user's own.
func TestForeignHomeserver(t *testing.T) {
	t.Parallel()
	h := &homeserver{user: "@alice:elsewhere.example", files: map[string][]byte{"text": []byte("x")}}
	web := httptest.NewServer(h)
	defer web.Close()
	q := turn.AttachmentQuery{HomeServer: web.URL, MatrixToken: "syt_good", Attachments: []oracle.Attachment{{MxcURI: "mxc://a/text"}}}
	got, _ := attachments.New(attachments.Config{AllowPrivate: true}).Fetch(t.Context(), q)
	if !strings.Contains(got[0].Note, "not the user's own") {
		t.Errorf("note: %q", got[0].Note)
	}
	got, _ = attachments.New(attachments.Config{}).Fetch(t.Context(), q)
	if !strings.Contains(got[0].Note, "https") {
		t.Errorf("plain http: %q", got[0].Note)
	}
	got, _ = attachments.New(attachments.Config{AllowPrivate: true, HomeServer: web.URL}).Fetch(t.Context(), q)
	if got[0].Text != "x" {
		t.Errorf("configured homeserver: %q", got[0].Note)
	}
}

// Files of a message that brought no token are read with the operator's: by their own address,
// at the operator's homeserver, and by no event, for the operator may see rooms that the user may not.
func TestTheOperatorsToken(t *testing.T) {
	t.Parallel()
	h := &homeserver{user: "@oracle:elsewhere.example", files: map[string][]byte{"text": []byte("bees dance")}}
	h.events = map[string]string{
		"$plain": `{"type":"m.room.message","event_id":"$plain","room_id":"!r:x","sender":"@a:x","content":{"msgtype":"m.file","body":"n.md","url":"mxc://x/text"}}`,
	}
	web := httptest.NewServer(h)
	defer web.Close()
	var seen []string
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer stranger.Close()
	byAddress, byEvent := oracle.Attachment{MxcURI: "mxc://a/text"}, oracle.Attachment{EventID: "$plain"}
	own := turn.AttachmentQuery{MatrixToken: "syt_other", HomeServer: web.URL}
	for name, c := range map[string]struct {
		query turn.AttachmentQuery
		file  oracle.Attachment
		want  string
	}{
		"no token":                 {turn.AttachmentQuery{}, byAddress, "bees dance"},
		"a server, and no token":   {turn.AttachmentQuery{HomeServer: stranger.URL}, byAddress, "bees dance"},
		"an event":                 {turn.AttachmentQuery{RoomID: "!r:x"}, byEvent, "only with the user's own Matrix token"},
		"a token that is no good":  {own, byAddress, "did not accept"},
		"a file that is not there": {turn.AttachmentQuery{}, oracle.Attachment{MxcURI: "mxc://a/no"}, "does not have it"},
	} {
		f := attachments.New(attachments.Config{AllowPrivate: true, HomeServer: web.URL, Token: "syt_good"})
		c.query.Attachments = []oracle.Attachment{c.file}
		got, _ := f.Fetch(t.Context(), c.query)
		if all := got[0].Text + got[0].Note; !strings.Contains(all, c.want) {
			t.Errorf("%s: %q", name, all)
		}
	}
	if len(seen) > 0 {
		t.Errorf("another server was asked, with %q", seen)
	}
}

// A name that leads nowhere and one that leads into our network are told alike, and
// the log does not have the address, which may have a key in it.
func TestPrivateAddressesAreNotToldApart(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.NotFoundHandler())
	defer web.Close()
	var log bytes.Buffer
	f := attachments.New(attachments.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	q := turn.AttachmentQuery{Attachments: []oracle.Attachment{
		{Filename: "a.txt", Mimetype: "text/plain", MxcURI: web.URL + "/a?key=secretkey"},
		{Filename: "b.txt", Mimetype: "text/plain", MxcURI: "https://nobody.invalid/b?key=secretkey"},
	}}
	got, _ := f.Fetch(t.Context(), q)
	if len(got) != 2 || got[0].Note == "" || got[0].Note != got[1].Note {
		t.Errorf("%+v", got)
	}
	if strings.Contains(log.String(), "secretkey") || !strings.Contains(log.String(), "could not be read") {
		t.Errorf("the log is %s", &log)
	}
}
