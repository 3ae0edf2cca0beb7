package ussdhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// ArkeselRequest is what Arkesel sends: the newest input only.
type ArkeselRequest struct {
	SessionID  string `json:"sessionID"`
	UserID     string `json:"userID"`
	NewSession bool   `json:"newSession"`
	MSISDN     string `json:"msisdn"`
	UserData   string `json:"userData"`
	Network    string `json:"network"`
}

// ArkeselReply is what Arkesel wants back.
type ArkeselReply struct {
	SessionID       string `json:"sessionID"`
	UserID          string `json:"userID"`
	MSISDN          string `json:"msisdn"`
	Message         string `json:"message"`
	ContinueSession bool   `json:"continueSession"`
}

func (a *api) arkesel(w http.ResponseWriter, r *http.Request) error {
	var in ArkeselRequest
	if err := readDialect(r, &in); err != nil {
		return writeDialect(w, in.reply(a.refuse(r, err)))
	}
	req := ussd.Request{
		Dialect: ussd.DialectArkesel, SessionID: in.SessionID, Phone: ussdnumber.E164(in.MSISDN),
		ServiceCode: ussdnumber.NoCode,
		Newest:      true, Start: in.NewSession, Text: in.UserData,
	}
	if in.NewSession {
		req.ServiceCode, req.Text = ussdnumber.Dialled(in.UserData, "")
	}
	return writeDialect(w, in.reply(a.hop(r, req)))
}

func (in ArkeselRequest) reply(answer ussd.Answer) ArkeselReply {
	return ArkeselReply{
		SessionID: in.SessionID, UserID: in.UserID, MSISDN: in.MSISDN, Message: answer.Text, ContinueSession: !answer.End,
	}
}
