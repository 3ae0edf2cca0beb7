package apiclient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity/apiclient"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

// server is a server that says its DID once and refuses what the test says.
func server(t *testing.T, handle http.HandlerFunc) (*apiclient.Client, *int) {
	t.Helper()
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/did.json", func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_ = json.NewEncoder(w).Encode(map[string]string{"id": "did:web:oracle.example.org"})
	})
	mux.HandleFunc("/", handle)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	key, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	c, err := apiclient.New(apiclient.Config{Server: s.URL + "/", Signer: key})
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

func TestEveryRequestHasATokenOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	c, asked := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Auth-Type") != "ucan" {
			t.Errorf("X-Auth-Type is %q", r.Header.Get("X-Auth-Type"))
		}
		seen[r.Header.Get("Authorization")] = true
		_, _ = w.Write([]byte(`{}`))
	})
	for range 3 {
		q := apiclient.Request{Method: http.MethodGet, Path: "/x"}
		q.Can = append(q.Can, apiclient.All("ixo:oracle"))
		if err := c.Do(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 3 || *asked != 1 {
		t.Errorf("%d tokens for 3 requests, the DID was asked for %d times", len(seen), *asked)
	}
}

func TestARequestThatMayDoNothingCarriesNoToken(t *testing.T) {
	c, asked := server(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "" && got != "Bearer operators" {
			t.Errorf("Authorization is %q", got)
		}
		_, _ = w.Write([]byte(`{}`))
	})
	for _, bearer := range []string{"", "operators"} {
		q := apiclient.Request{Method: http.MethodPost, Path: "/operator/x", JSON: map[string]int{"a": 1}, Bearer: bearer}
		if err := c.Do(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	if *asked != 0 {
		t.Errorf("the DID was asked for %d times, for no token", *asked)
	}
}

func TestARefusalHasTheServersWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"message":"No such file.","error":"not_found"}`: "No such file (status 404)",
		`{"message":["a","b"]}`:                           "[a b] (status 404)",
		`<html>`:                                          "Not Found (status 404)",
		`{}`:                                              "Not Found (status 404)",
	} {
		c, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(body))
		})
		err := c.Do(t.Context(), apiclient.Request{Method: http.MethodGet, Path: "/x"}, nil)
		if !apiclient.IsStatus(err, http.StatusNotFound) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

func TestAnAddressThatIsNone(t *testing.T) {
	for _, address := range []string{"", "localhost:3000", "ftp://host", "http://", "://"} {
		if _, err := apiclient.New(apiclient.Config{Server: address}); err == nil || !strings.Contains(err.Error(), "want http(s)") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestWhoCameTooSoonComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		var waited []time.Duration
		c, err := apiclient.New(apiclient.Config{
			Server: "http://oracle.test", Waiting: func(d time.Duration) { waited = append(waited, d) },
			HTTP: &http.Client{Transport: transport(func(r *http.Request) *http.Response {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				if len(bodies) < 3 {
					return answer(http.StatusTooManyRequests, http.Header{"Retry-After": {"7"}}, `{"message":"Too many."}`)
				}
				return answer(http.StatusOK, nil, `{}`)
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		file := strings.NewReader("xyz-content")
		_, _ = file.Seek(4, io.SeekStart)
		q := apiclient.Request{Method: http.MethodPut, Path: "/x", Body: file, Length: 7}
		if err := c.Do(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(bodies, []string{"content", "content", "content"}) || !slices.Equal(waited, []time.Duration{7e9, 7e9}) {
			t.Errorf("sent %q after %v", bodies, waited)
		}
		// What cannot be read again is not sent in half.
		bodies = nil
		q.Body, q.Length = io.LimitReader(strings.NewReader("stream"), 6), 6
		if err := c.Do(t.Context(), q, nil); !apiclient.IsStatus(err, http.StatusTooManyRequests) || len(bodies) != 1 {
			t.Errorf("a stream: %v, sent %q", err, bodies)
		}
	})
}

func TestWhoIsRefusedForLongIsTold(t *testing.T) {
	sent := 0
	c, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		sent++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"message":"Come tomorrow."}`))
	})
	err := c.Do(t.Context(), apiclient.Request{Method: http.MethodGet, Path: "/x"}, nil)
	if err == nil || err.Error() != "Come tomorrow (status 429)" || sent != 1 {
		t.Errorf("%v after %d requests", err, sent)
	}
}

type transport func(*http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func answer(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}
