package system_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople/ussdpeoplehttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

// What a linked telephone asks is in the conversations of the person, on every node,
// until either side ends that; codes and links outlive a killed node at every hop.
func TestATelephoneAndABrowserAreOnePerson(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		web, err := oracleclient.New(t.Context(), oracleclient.Config{Server: w.Node(0).URL, Signer: somebody(t)})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(method, path string, body, into any) {
			t.Helper()
			if err := web.Do(t.Context(), method, path, body, into); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
		}
		talks := func() int {
			t.Helper()
			var list struct{ Sessions []struct{ SessionID string } }
			ask(http.MethodGet, "/sessions", nil, &list)
			return len(list.Sessions)
		}
		const phone = "+254700111555"
		line := &telephone{world: w, retries: 3}
		c := &caller{t: t, line: line, phone: phone}
		c.dial("l1")
		made := c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is")
		_, made, _ = strings.Cut(made, "account ID is ")
		id := made[:9]
		c.expect("1", "My account", "5", "Type your question", "When to water?", "Water at dusk.")
		if n := talks(); n != 0 {
			t.Fatalf("before the link there are %d conversations", n)
		}
		var told struct{ Code string }
		ask(http.MethodPost, "/api/telephones", ussdpeoplehttp.NewLink{Account: id}, &told)
		c.dial("l2")
		c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome", "1", "My account", "1", "Link web", "1", "Enter your PIN")
		for i, step := range [][2]string{{"70382", "8 digits"}, {told.Code, "Link this account with did:key:"}, {"1", "Your account is linked"}} {
			c.expect(step[0], step[1])
			node := w.Node(i)
			node.Kill()
			node.Start()
			node.WaitReady()
		}
		c.expect("5", "Type your question", "And the maize?", "Water at dusk.")
		if n := talks(); n != 1 {
			t.Errorf("after the link there are %d conversations", n)
		}
		var list ussdpeoplehttp.LinkList
		if ask(http.MethodGet, "/api/telephones", nil, &list); len(list.Telephones) != 1 || list.Telephones[0].Account != id {
			t.Errorf("%+v", list)
		}
		// A PIN that was forgotten is reset with key and telephone.
		ask(http.MethodPost, "/api/telephones/"+id+"/reset-pin", nil, &told)
		c.dial("l3")
		c.expect("2", "", "1", "Enter your PIN", "01", "8 digits", told.Code, "Choose a new PIN", "48217", "again", "48217", "Welcome Ann")
		ask(http.MethodDelete, "/api/telephones/"+id, nil, nil)
		c.expect("1", "My account", "5", "Type your question", "And now?", "Water at dusk.")
		if n := talks(); n != 1 {
			t.Errorf("after the end of the link there are %d conversations", n)
		}
		for _, node := range w.Nodes {
			for _, secret := range []string{told.Code, "48217", phone[1:]} {
				if found := ussdtest.Leak(node.Log(), secret); found != "" {
					t.Errorf("%s is in a log: %s", secret, found)
				}
			}
		}
	}, telephoneModel(t, nil)...)
}

// Whoever has the key in a file, and no browser, links a telephone with it, has its PIN reset,
// and ends the link.
func TestAKeyInAFileLinksATelephone(t *testing.T) {
	t.Parallel()
	w := system.Start(t, system.Embedded)
	key := filepath.Join(t.TempDir(), "my.key")
	// types runs a command line and returns the first line that it prints.
	types := func(want int, args ...string) string {
		t.Helper()
		text, code := system.Run(t, nil, append(append([]string{"key"}, args...), "--key", key, "--server", w.URL())...)
		if code != want {
			t.Fatalf("%v: %d %s", args, code, text)
		}
		first, _, _ := strings.Cut(text, "\n")
		return first
	}
	if text, code := system.Run(t, nil, "key", "new", "--out", key); code != 0 {
		t.Fatal(text)
	}
	c := &caller{t: t, line: &telephone{world: w, retries: 3}, phone: "+254700111666"}
	c.dial("f1")
	made := c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is", "1", "My account", "1", "Account ID: ")
	_, made, _ = strings.Cut(made, "Account ID: ")
	id := made[:9]
	if text := types(0, "telephones"); !strings.Contains(text, "No telephone is linked") {
		t.Error(text)
	}
	types(1, "reset-pin", id)
	c.expect("1", "Enter your PIN", "70382", "8 digits", types(0, "link", id), "Link this account with did:key:", "1", "Your account is linked")
	if text := types(0, "telephones"); !strings.HasPrefix(text, id+"  linked ") {
		t.Error(text)
	}
	c.dial("f2")
	c.expect("2", "", "1", "Enter your PIN", "01", "8 digits", types(0, "reset-pin", id), "Choose a new PIN", "48217", "again", "48217", "Welcome Ann")
	types(0, "unlink", id)
	if text := types(0, "telephones"); !strings.Contains(text, "No telephone is linked") {
		t.Error(text)
	}
}
