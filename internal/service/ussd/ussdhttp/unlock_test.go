package ussdhttp_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// A telephone that guessed at foreign accounts is locked, and an operator lets it
// in again by the name in the list or by its number. The number itself stands in
// no list and no log.
func TestOperatorsUnlockATelephone(t *testing.T) {
	t.Parallel()
	const number = "+254733333333"
	g := newGateway(t, options{})
	session := 0
	guess := func() string {
		session++
		id := "guess-" + strconv.Itoa(session)
		text, got := "", g.send(id, number, "")
		for _, typed := range []string{"2", "1", "C00000000", "48293"} {
			text = strings.TrimPrefix(text+"*"+typed, "*")
			got = g.send(id, number, text)
		}
		return got
	}
	unlock := func(body string, header ...string) reply {
		t.Helper()
		return g.do(http.MethodPost, "/api/ussd/telephones/unlock", "application/json", body, header...)
	}
	token := []string{"Authorization", "Bearer " + operator}
	for i, name := range []string{"telephone", "phoneNumber"} {
		for range 5 {
			guess()
		}
		if got := guess(); !strings.HasPrefix(got, "END Too many wrong PINs.") {
			t.Fatalf("round %d: %q", i, got)
		}
		var list ussdhttp.LockList
		r := g.get("/api/ussd/locks")
		if err := json.Unmarshal([]byte(r.body), &list); err != nil || len(list.Locks) != 1 ||
			list.Locks[0].Origin != ussdpin.OriginCaller {
			t.Fatalf("%+v (%v)", r, err)
		}
		if strings.Contains(r.body, number[1:]) {
			t.Errorf("the number is in the list: %s", r.body)
		}
		who := map[string]string{"telephone": list.Locks[0].Telephone, "phoneNumber": number}[name]
		body := `{"` + name + `":"` + who + `"}`
		if r := unlock(body); r.status != http.StatusUnauthorized {
			t.Errorf("without a token: %+v", r)
		}
		want := `{"telephone":"` + list.Locks[0].Telephone + `","unlocked":true}`
		if r := unlock(body, token...); r.status != http.StatusOK || strings.TrimSpace(r.body) != want {
			t.Fatalf("%s: %+v", name, r)
		}
		if got := guess(); !strings.HasPrefix(got, "CON Wrong account or PIN.") {
			t.Errorf("after the unlock: %q", got)
		}
		if r := unlock(`{"phoneNumber":"`+number+`"}`, token...); !strings.Contains(r.body, `"unlocked":true`) { // the guess was counted
			t.Errorf("%+v", r)
		}
	}
	for body, status := range map[string]int{
		`{}`:                         http.StatusBadRequest,
		`{"telephone":"tel-00"}`:     http.StatusNotFound,
		`{"telephone":"+254733333"}`: http.StatusBadRequest,
		`{"phoneNumber":"0733"}`:     http.StatusBadRequest,
		`{"phoneNumber":"` + number + `","telephone":"tel-00"}`: http.StatusBadRequest,
		`{"telephone":1}`:                      http.StatusBadRequest,
		`{"phoneNumber":"` + number + `"}`:     http.StatusOK,
		`{"account":"C1","telephone":"tel-0"}`: http.StatusBadRequest,
	} {
		if r := unlock(body, token...); r.status != status {
			t.Errorf("%s: %+v, not %d", body, r, status)
		}
	}
	if strings.Contains(g.log.String(), number[1:]) {
		t.Error("the number is in the log")
	}
}
