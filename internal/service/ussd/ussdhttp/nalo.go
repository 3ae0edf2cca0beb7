package ussdhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// NaloRequest is what Nalo sends: the newest input only. MSGTYPE is true on the
// first request of a session.
type NaloRequest struct {
	UserID    string `json:"USERID"`
	MSISDN    string `json:"MSISDN"`
	UserData  string `json:"USERDATA"`
	MsgType   bool   `json:"MSGTYPE"`
	Network   string `json:"NETWORK"`
	SessionID string `json:"SESSIONID"`
}

// NaloReply is what Nalo wants back. MSGTYPE is true while the session goes on.
type NaloReply struct {
	UserID  string `json:"USERID"`
	MSISDN  string `json:"MSISDN"`
	Msg     string `json:"MSG"`
	MsgType bool   `json:"MSGTYPE"`
}

func (a *api) nalo(w http.ResponseWriter, r *http.Request) error {
	var in NaloRequest
	if err := readDialect(r, &in); err != nil {
		return writeDialect(w, in.reply(a.refuse(r, err)))
	}
	id, phone := in.SessionID, ussdnumber.E164(in.MSISDN)
	if id == "" && a.svc != nil && ussdnumber.ValidPhone(phone) {
		// Without an id a telephone has one session at a time. Ids are shown and
		// logged, so that its number cannot be one.
		id = a.svc.Alias(phone)
	}
	req := ussd.Request{
		Dialect: ussd.DialectNalo, SessionID: id, Phone: phone, ServiceCode: ussdnumber.NoCode,
		Newest: true, Start: in.MsgType, Text: in.UserData,
	}
	if in.MsgType {
		req.ServiceCode, req.Text = ussdnumber.Dialled(in.UserData, "")
	}
	return writeDialect(w, in.reply(a.hop(r, req)))
}

func (in NaloRequest) reply(answer ussd.Answer) NaloReply {
	return NaloReply{UserID: in.UserID, MSISDN: in.MSISDN, Msg: answer.Text, MsgType: !answer.End}
}
