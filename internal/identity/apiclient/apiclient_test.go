package apiclient_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
