package openaiface_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/face/openaiface"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// bare leaves out the address of the server.
func bare(t *testing.T, c openaiface.URLCitation) openaiface.URLCitation {
	t.Helper()
	at := strings.Index(c.URL, "/knowledge/")
	if !strings.HasPrefix(c.URL, "http") || at < 0 {
		t.Fatalf("%q is no address", c.URL)
	}
	c.URL = c.URL[at:]
	return c
}

// cited is where CitingText points to, in characters.
var cited = []openaiface.URLCitation{
	{StartIndex: 10, EndIndex: 13, URL: "/knowledge/passages/c/mill/0", Title: "Mill"},
	{StartIndex: 24, EndIndex: 27, URL: "/knowledge/passages/c/clinic/1", Title: "clinic.txt"},
}

func checkAnnotations(t *testing.T, all []openaiface.Annotation) {
	t.Helper()
	var got []openaiface.URLCitation
	for _, a := range all {
		if a.Type != "url_citation" {
			t.Errorf("%+v", a)
		}
		got = append(got, bare(t, a.URLCitation))
	}
	if d := cmp.Diff(cited, got); d != "" {
		t.Error(d)
	}
	for _, c := range got {
		if mark := string([]rune(oracletest.CitingText)[c.StartIndex:c.EndIndex]); !strings.HasPrefix(mark, "[") ||
			!strings.HasSuffix(mark, "]") {
			t.Errorf("%+v points from %q", c, mark)
		}
	}
}

// What an answer points to are its annotations, in one piece and as a stream.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	model, with := oracletest.Citing()
	alice := oracletest.Start(t, model, with).As(t, identitytest.Alice)
	body := object{"model": "oracle", "messages": []any{says("user", "when?")}}
	whole := ask(t, alice, body)
	if textOf(whole) != oracletest.CitingText {
		t.Fatalf("%+v", whole)
	}
	checkAnnotations(t, whole.Choices[0].Message.Annotations)

	model, with = oracletest.Citing()
	alice = oracletest.Start(t, model, with).As(t, identitytest.Alice)
	body["stream"] = true
	var all []openaiface.Annotation
	for line := range strings.SplitSeq(string(alice.Do("POST", chatPath, body).Body), "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct{ Annotations []openaiface.Annotation }
			}
		}
		must(t, json.Unmarshal([]byte("{"+data), &chunk))
		for _, c := range chunk.Choices {
			all = append(all, c.Delta.Annotations...)
		}
	}
	checkAnnotations(t, all)
}

// The same for responses, where each is told by an event too.
func TestResponsesAreAnnotated(t *testing.T) {
	t.Parallel()
	model, with := oracletest.Citing()
	alice := oracletest.Start(t, model, with).As(t, identitytest.Alice)
	var told []openaiface.URLCitation
	var last openaiface.Response
	for line := range strings.SplitSeq(string(alice.Do("POST", "/v1/responses",
		object{"model": "oracle", "input": "when?", "stream": true}).Body), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type            string
			Annotation      openaiface.URLCitation
			AnnotationIndex int `json:"annotation_index"`
			Response        openaiface.Response
		}
		must(t, json.Unmarshal([]byte(data), &e))
		switch e.Type {
		case "response.output_text.annotation.added":
			if e.AnnotationIndex != len(told) || e.Annotation.Type != "url_citation" {
				t.Errorf("%s", data)
			}
			e.Annotation.Type = ""
			told = append(told, bare(t, e.Annotation))
		case "response.completed":
			last = e.Response
		}
	}
	if d := cmp.Diff(cited, told); d != "" {
		t.Error(d)
	}
	if n := len(last.Output); n != 1 || len(last.Output[0].Content[0].Annotations) != 2 ||
		last.Output[0].Content[0].Text != oracletest.CitingText {
		t.Errorf("%+v", last.Output)
	}
}
