package system_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

// operatorCall asks an operators' route at the next node.
func operatorCall(t *testing.T, line *telephone, method, path, body string, out any) {
	t.Helper()
	reply, err := line.world.Node(int(line.turn.Add(1))).Try(t.Context(), system.Call{
		Method: method, Path: "/operator/ussd" + path, Body: body, Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil || reply.Status != http.StatusOK {
		t.Fatalf("%s: %d %s (%v)", path, reply.Status, reply.Body, err)
	}
	if out != nil {
		reply.JSON(t, out)
	}
}

// A caller who lost the PIN comes in again with a code of the operator, which
// outlives a killed node at every hop; then the account moves to a new number and is
// erased with what was said.
func TestOperatorsHelpTelephoneUsers(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		line := &telephone{world: w, retries: 3}
		c := &caller{t: t, line: line, phone: "+254700111333"}
		c.dial("p1")
		c.expect("2", "", "2", "", "Ann", "", "00", "", "70382", "", "70382", "account ID is", "1", "5. Ask the oracle",
			"5", "Type your question", "What can you do?", "CON ")
		var list struct {
			Accounts []struct{ Account, PhoneNumber, Name, ClosedAt string }
		}
		operatorCall(t, line, http.MethodPost, "/accounts/search", `{"phoneNumber":"+254700111333"}`, &list)
		if len(list.Accounts) != 1 || list.Accounts[0].Name != "Ann" || strings.Contains(list.Accounts[0].PhoneNumber, "111333") {
			t.Fatalf("%+v", list)
		}
		id := list.Accounts[0].Account
		var told struct{ Code string }
		operatorCall(t, line, http.MethodPost, "/accounts/"+id+"/reset-pin", "", &told)

		c.dial("p2")
		c.expect("2", "", "1", "Enter your PIN", "01", "8 digits")
		for i, step := range [][2]string{{told.Code, "Choose a new PIN"}, {"48217", "again"}, {"48217", "Welcome Ann"}} {
			c.expect(step[0], step[1])
			node := w.Node(i)
			node.Kill()
			node.Start()
			node.WaitReady()
		}
		c.dial("p3")
		c.expect("2", "", "1", "Enter your PIN", "70382", "Wrong", "48217", "Welcome Ann")

		operatorCall(t, line, http.MethodPost, "/accounts/"+id+"/move", `{"phoneNumber":"+254700111444"}`, nil)
		moved := &caller{t: t, line: line, phone: "+254700111444"}
		moved.dial("p4")
		moved.expect("2", "", "1", "Enter your PIN", "48217", "Welcome Ann")

		var receipt struct{ Account, Telephone any }
		var talks struct{ Conversations int }
		reply, err := w.Node(0).Try(t.Context(), system.Call{Method: http.MethodPost, Path: "/operator/ussd/accounts/" + id + "/erase"})
		if err != nil || reply.Status != http.StatusOK {
			t.Fatalf("%d %s (%v)", reply.Status, reply.Body, err)
		}
		reply.JSON(t, &receipt)
		reply.JSON(t, &talks)
		if receipt.Account != id || receipt.Telephone != true || talks.Conversations != 1 {
			t.Errorf("receipt: %s", reply.Body)
		}
		var acts struct{ Acts []struct{ Act, Actor string } }
		operatorCall(t, line, http.MethodGet, "/acts?account="+id, "", &acts)
		if len(acts.Acts) != 4 || acts.Acts[0].Act != "erased" {
			t.Errorf("%+v", acts)
		}
		for _, secret := range []string{told.Code, "48217", "254700111333", "254700111444"} {
			for _, node := range w.Nodes {
				if found := ussdtest.Leak(node.Log(), secret); found != "" {
					t.Errorf("%s is in a log: %s", secret, found)
				}
			}
		}
	}, telephoneModel(t, nil)...)
}
