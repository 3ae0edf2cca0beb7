//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// caller is a telephone: it opens accounts, logs in, and guesses PINs. It sends
// an input again, elsewhere, when no answer came, as gateways do.
type caller struct {
	*crowd
	phone   int64
	guesses bool // wrong more often, until the account is locked

	session int
	account string
	locked  bool
}

const (
	rightPIN = "70382"
	wrongPIN = "11927"
)

func (c *caller) name() string { return fmt.Sprintf("phone %d", c.phone/100000%10) }

var accountID = regexp.MustCompile(`account ID is (C\w{8})`)

// dialog is one USSD session.
type dialog struct {
	caller *caller
	id     string
	text   string
	sent   int // how often the last input may have arrived
}

func (c *caller) dial() *dialog {
	c.session++
	return &dialog{caller: c, id: fmt.Sprintf("%s session %d", c.name(), c.session)}
}

// send types an input and returns the answer. Told is Unknown when the line
// stayed dead, and Refused when the input was surely not taken.
func (d *dialog) send(ctx context.Context, input string) (string, Told) {
	if input != "" {
		if d.text != "" {
			d.text += "*"
		}
		d.text += input
	}
	body, err := json.Marshal(map[string]string{
		"sessionId": d.id, "serviceCode": "*2233#", "phoneNumber": fmt.Sprintf("+%d", d.caller.phone), "text": d.text,
	})
	if err != nil {
		panic(err) // a map of texts
	}
	sent := Refused
	d.sent = 0
	for try := 0; try < 12 && ctx.Err() == nil; try++ {
		r, told, err := d.caller.world.ask(ctx, rand.IntN(fleetSize), http.MethodPost, "/api/ussd",
			http.Header{"Content-Type": {"application/json"}}, strings.NewReader(string(body)))
		answer := string(r.body)
		if told != Refused {
			d.sent++
		}
		if told == Acknowledged && !strings.Contains(answer, "unavailable") {
			return answer, Acknowledged
		}
		if err == nil {
			err, told = fmt.Errorf("%s", answer), Unknown
		}
		d.caller.told(d.caller.name(), "types "+input, told, err)
		if told != Refused {
			sent = Unknown
		}
		pause(ctx, 400*time.Millisecond)
	}
	return "", sent
}

// walk types inputs until an answer is not what is expected.
func (d *dialog) walk(ctx context.Context, pairs ...string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		answer, told := d.send(ctx, pairs[i])
		if told != Acknowledged {
			return false
		}
		if !strings.Contains(answer, pairs[i+1]) {
			d.caller.world.Tell("%-12s types %q and reads %q", d.caller.name(), pairs[i], answer)
			return false
		}
	}
	return true
}

func (c *caller) step(ctx context.Context) bool {
	if c.account == "" || c.locked {
		return c.open(ctx)
	}
	return c.enter(ctx)
}

// open makes a new telephone and an account for it.
func (c *caller) open(ctx context.Context) bool {
	c.phone++
	c.account, c.locked = "", false
	d := c.dial()
	if !d.walk(ctx, "", "Welcome", "2", "Account menu", "2", "full name", "Ann", "e-mail", "00", "PIN of 5", rightPIN, "again") {
		return false
	}
	answer, told := d.send(ctx, rightPIN)
	id := accountID.FindStringSubmatch(answer)
	if told != Acknowledged || id == nil {
		c.world.Tell("%-12s opens an account: %v %q", c.name(), told, answer)
		return false
	}
	c.account = id[1]
	c.told(c.name(), "opens account "+c.account, told, nil)
	c.book.write(func(e *Evidence) { e.Accounts = append(e.Accounts, Account{ID: c.account, Told: Acknowledged}) })
	return true
}

// enter tries a PIN.
func (c *caller) enter(ctx context.Context) bool {
	d := c.dial()
	if !d.walk(ctx, "", "Welcome", "2", "Account menu", "1", "PIN") {
		return false
	}
	right := rand.IntN(3) == 0 && !c.guesses
	pin := wrongPIN
	if right {
		pin = rightPIN
	}
	answer, told := d.send(ctx, pin)
	switch {
	case told != Acknowledged:
	case strings.Contains(answer, "Too many"):
		c.locked = true
	case right != strings.Contains(answer, "Welcome Ann"):
		c.book.write(func(e *Evidence) {
			e.Problems = append(e.Problems, fmt.Sprintf("%s: PIN right is %v and the answer is %q", c.account, right, answer))
		})
	}
	c.told(c.name(), fmt.Sprintf("tries a PIN of %s (right: %v)", c.account, right), told, nil)
	c.book.write(func(e *Evidence) { e.Attempts = append(e.Attempts, Attempt{c.account, right, told, d.sent, c.locked}) })
	return told == Acknowledged
}
