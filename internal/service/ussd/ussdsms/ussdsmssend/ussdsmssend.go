// Package ussdsmssend sends text messages through HTTP gateways: Africa's Talking, and
// Twilio or what speaks like it.
//
// It is given a client that refuses addresses which are not public; it follows no
// redirects, waits ten seconds at most and reads 64 KiB of an answer. What it says of a
// failure are words of this program and codes of the gateway: answers name numbers.
// Each message goes out under its name, as Idempotency-Key, for gateways that look at
// it; neither of the two promises to.
package ussdsmssend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
)

// The gateways.
const (
	AfricasTalking = "africastalking"
	Twilio         = "twilio"
)

const (
	answerLimit = 10 * time.Second
	maxAnswer   = 64 << 10

	baseAfricasTalking = "https://api.africastalking.com"
	baseTwilio         = "https://api.twilio.com"
)

// Config is an account at a gateway.
type Config struct {
	Gateway string
	// Base is where the gateway is; empty is its own address.
	Base string
	// Account is the user name, or the account's SID; Key the API key, or the token.
	Account, Key string
	// From is the sender: a number, a short code or a name; at Twilio also the SID of a
	// messaging service. Empty is the gateway's default.
	From string
	// Reports is where Twilio says what became of a message; empty is nowhere.
	Reports string
	// Plain lets Base be plain HTTP: where private addresses are allowed.
	Plain  bool
	Client *http.Client
	// Refused is what Client says of addresses that are not public.
	Refused error
}

// Sender implements ussdsms.Gateway.
type Sender struct {
	cfg    Config
	client *http.Client
	target string
}

var _ ussdsms.Gateway = (*Sender)(nil)

// New makes a sender.
func New(cfg Config) (*Sender, error) {
	own, path := baseAfricasTalking, "/version1/messaging"
	if cfg.Gateway == Twilio {
		own, path = baseTwilio, "/2010-04-01/Accounts/"+url.PathEscape(cfg.Account)+"/Messages.json"
		if cfg.From == "" {
			return nil, errors.New("SMS_FROM: Twilio needs a number, a name or the SID of a messaging service (MG…)")
		}
	}
	if cfg.Account == "" || cfg.Key == "" {
		return nil, errors.New("SMS_ACCOUNT and SMS_KEY: give those of your account at the gateway")
	}
	if cfg.Base == "" {
		cfg.Base = own
	}
	base, err := url.Parse(cfg.Base)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" ||
		base.Scheme != "https" && (!cfg.Plain || base.Scheme != "http") {
		return nil, errors.New("SMS_URL: give an address such as https://sms.example.org (http:// only with SMS_ALLOW_PRIVATE)")
	}
	client := *cfg.Client
	client.Timeout = answerLimit
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{cfg: cfg, client: &client, target: strings.TrimRight(cfg.Base, "/") + path}, nil
}

// Send implements ussdsms.Gateway.
func (s *Sender) Send(ctx context.Context, m ussdsms.Message) (ussdsms.Sent, error) {
	form, read := s.africasTalking(m), readAfricasTalking
	if s.cfg.Gateway == Twilio {
		form, read = s.twilio(m), readTwilio
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target, strings.NewReader(form.Encode()))
	if err != nil {
		return ussdsms.Sent{}, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Idempotency-Key", m.ID)
	if s.cfg.Gateway == Twilio {
		req.SetBasicAuth(s.cfg.Account, s.cfg.Key)
	} else {
		req.Header.Set("apiKey", s.cfg.Key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return ussdsms.Sent{}, s.explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return ussdsms.Sent{}, errors.New("the gateway's answer broke off")
	}
	return read(resp.StatusCode, body)
}

// explain says what went wrong without the address, which has the account in it.
func (s *Sender) explain(err error) error {
	var late net.Error
	switch {
	case s.cfg.Refused != nil && errors.Is(err, s.cfg.Refused):
		return errors.New("the gateway's address is private: SMS_ALLOW_PRIVATE allows it")
	case errors.As(err, &late) && late.Timeout():
		return errors.New("the gateway did not answer in time")
	}
	return errors.New("no connection to the gateway")
}

func (s *Sender) africasTalking(m ussdsms.Message) url.Values {
	form := url.Values{"username": {s.cfg.Account}, "to": {m.Phone}, "message": {m.Text}}
	if s.cfg.From != "" {
		form.Set("from", s.cfg.From)
	}
	return form
}

func (s *Sender) twilio(m ussdsms.Message) url.Values {
	form := url.Values{"To": {m.Phone}, "Body": {m.Text}, "From": {s.cfg.From}}
	if s.cfg.Reports != "" {
		form.Set("StatusCallback", s.cfg.Reports)
	}
	if strings.HasPrefix(s.cfg.From, "MG") {
		form.Del("From")
		form.Set("MessagingServiceSid", s.cfg.From)
	}
	return form
}

// refusedStatus says of an answer that is no yes whether it is no for good.
func refusedStatus(status int, code string) error {
	text := fmt.Sprintf("the gateway answered %d%s", status, code)
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return errors.New(text) // ours to mend, or it passes
	}
	if status >= 400 && status < 500 {
		return &ussdsms.RefusedError{Reason: text}
	}
	return errors.New(text)
}

func readTwilio(status int, body []byte) (ussdsms.Sent, error) {
	var answer struct {
		SID      string `json:"sid"`
		Segments string `json:"num_segments"`
		Price    string `json:"price"`
		Unit     string `json:"price_unit"`
		Code     int    `json:"code"`
	}
	err := json.Unmarshal(body, &answer)
	if status != http.StatusCreated && status != http.StatusOK {
		code := ""
		if err == nil && answer.Code != 0 {
			code = fmt.Sprintf(" (code %d)", answer.Code)
		}
		return ussdsms.Sent{}, refusedStatus(status, code)
	}
	if err != nil || answer.SID == "" {
		return ussdsms.Sent{}, nil //nolint:nilerr // it was taken: to send it again would be worse
	}
	parts, _ := strconv.Atoi(answer.Segments)
	return ussdsms.Sent{
		Reference: short(answer.SID), Parts: plausibleParts(parts),
		Cost: cost(answer.Unit + " " + strings.TrimPrefix(answer.Price, "-")),
	}, nil
}

func readAfricasTalking(status int, body []byte) (ussdsms.Sent, error) {
	if status != http.StatusCreated && status != http.StatusOK {
		return ussdsms.Sent{}, refusedStatus(status, "")
	}
	var answer struct {
		Data struct {
			Recipients []struct {
				Code  int    `json:"statusCode"`
				Cost  string `json:"cost"`
				ID    string `json:"messageId"`
				Parts int    `json:"messageParts"`
			} `json:"Recipients"`
		} `json:"SMSMessageData"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return ussdsms.Sent{}, nil //nolint:nilerr // it was taken: to send it again would be worse
	}
	if len(answer.Data.Recipients) == 0 { // the sender's name is not the account's, and the like
		return ussdsms.Sent{}, &ussdsms.RefusedError{Reason: "the gateway took nobody as recipient"}
	}
	switch r := answer.Data.Recipients[0]; r.Code {
	case 100, 101, 102: // processed, sent, queued
		return ussdsms.Sent{Reference: short(r.ID), Parts: plausibleParts(r.Parts), Cost: cost(r.Cost)}, nil
	case 405, 500, 501: // no balance, or it is out of order
		return ussdsms.Sent{}, fmt.Errorf("the gateway answered code %d", r.Code)
	default:
		return ussdsms.Sent{}, &ussdsms.RefusedError{Reason: fmt.Sprintf("the gateway answered code %d", r.Code)}
	}
}

// plausibleParts believes a gateway up to a point: the number is added up.
func plausibleParts(n int) int {
	if n < 0 || n > 100 {
		return 0
	}
	return n
}

// short bounds what a gateway calls a message.
func short(id string) string {
	if len(id) > 100 {
		return ""
	}
	return strings.ToValidUTF8(strings.ReplaceAll(id, "\x00", ""), "")
}

// cost reads "KES 0.8000"; what is not written so is unknown.
func cost(text string) ussdsms.Cost {
	c, err := ParseCost(text)
	if err != nil {
		return ussdsms.Cost{}
	}
	return c
}

// maxCost bounds a cost, in units of its currency.
const maxCost = 1_000_000

// ParseCost reads an amount behind its currency, such as "KES 0.80".
func ParseCost(text string) (ussdsms.Cost, error) {
	bad := errors.New("write a currency of three letters and an amount, such as KES 0.80")
	currency, amount, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok || len(currency) != 3 || strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || amount == "" ||
		strings.Trim(amount, "0123456789.") != "" {
		return ussdsms.Cost{}, bad
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	units, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || units > maxCost || len(fraction) > 6 || strings.Contains(fraction, ".") {
		return ussdsms.Cost{}, bad
	}
	micros := int64(0)
	if fraction != "" {
		if micros, err = strconv.ParseInt((fraction + "000000")[:6], 10, 64); err != nil {
			return ussdsms.Cost{}, bad
		}
	}
	return ussdsms.Cost{Micros: units*1_000_000 + micros, Currency: currency}, nil
}
