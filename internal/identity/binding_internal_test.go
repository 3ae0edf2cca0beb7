package identity

import "testing"

// Two readings at once may tell what they read in another order than it was stored in.
func TestAnOlderBindingDoesNotComeBack(t *testing.T) {
	t.Parallel()
	undone := []Binding{{Feed: 3, Key: "did:k", Person: "did:p", Lost: true}, {Feed: 4, Key: "did:p", Person: "did:p"}}
	bound := []Binding{{Feed: 1, Key: "did:p", Person: "did:p", Lost: true}, {Feed: 2, Key: "did:k", Person: "did:p"}}
	var b *bindings
	b = b.with(undone).with(bound)
	if !b.lost("did:k") || b.lost("did:p") || b.live["did:p"] != "did:p" {
		t.Errorf("%+v", b)
	}
}
