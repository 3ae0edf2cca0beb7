// Package webhooks holds what we send against the library of Standard Webhooks.
// Its receiver is the example of docs/guides/webhooks.md.
package webhooks

import (
	"io"
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Receiver takes webhooks that were signed with a secret, and hands each of them
// on once.
func Receiver(secret string, handle func(id string, body []byte)) (http.Handler, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{} // keep these in your database
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil || verifier.Verify(body, r.Header) != nil {
			http.Error(w, "not signed by the oracle", http.StatusBadRequest)
			return
		}
		if id := r.Header.Get("webhook-id"); !seen[id] {
			seen[id] = true
			handle(id, body)
		}
		w.WriteHeader(http.StatusNoContent)
	}), nil
}
