package ussdhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// HubtelRequest is what Hubtel sends. Sequence numbers the requests of a
// session, so a repeated delivery is known by it.
type HubtelRequest struct {
	Type        string `json:"Type"` // Initiation, Response, Release or Timeout
	Mobile      string `json:"Mobile"`
	SessionID   string `json:"SessionId"`
	ServiceCode string `json:"ServiceCode"`
	Message     string `json:"Message"`
	Operator    string `json:"Operator"`
	Sequence    int    `json:"Sequence"`
	ClientState any    `json:"ClientState"`
}

// HubtelReply is what Hubtel wants back.
type HubtelReply struct {
	SessionID   string `json:"SessionId"`
	Type        string `json:"Type"` // Response or Release
	Message     string `json:"Message"`
	Label       string `json:"Label"`
	ClientState any    `json:"ClientState"`
	DataType    string `json:"DataType"`  // input or display
	FieldType   string `json:"FieldType"` // text
}

// The types of Hubtel's messages.
const (
	hubtelInitiation = "Initiation"
	hubtelResponse   = "Response"
	hubtelRelease    = "Release"
	hubtelTimeout    = "Timeout"
)

func hubtelEnd(text string) HubtelReply {
	return HubtelReply{Type: hubtelRelease, Message: text, DataType: "display", FieldType: "text"}
}

func (a *api) hubtel(w http.ResponseWriter, r *http.Request) error {
	var in HubtelRequest
	err := readDialect(r, &in)
	out := hubtelEnd("")
	out.SessionID, out.ClientState = in.SessionID, in.ClientState
	if err != nil {
		out.Message = a.refuse(r, err).Text
		return writeDialect(w, out)
	}
	req := ussd.Request{
		Dialect: ussd.DialectHubtel, SessionID: in.SessionID, Phone: ussdnumber.E164(in.Mobile),
		ServiceCode: ussdnumber.ServiceCode(in.ServiceCode), Newest: true, Sequence: max(in.Sequence, 0),
	}
	switch in.Type {
	case hubtelInitiation:
		req.Start = true
		req.ServiceCode, req.Text = ussdnumber.Dialled(in.Message, in.ServiceCode)
	case hubtelResponse:
		req.Text = in.Message
	case hubtelRelease, hubtelTimeout:
		if err := a.end(r, req.Dialect, req.SessionID, req.Phone); err != nil {
			return err
		}
		return writeDialect(w, out)
	default:
		out.Message = a.refuse(r, &ussd.InvalidError{Field: "Type", Rule: "must be Initiation, Response, Release or Timeout"}).Text
		return writeDialect(w, out)
	}
	answer := a.hop(r, req)
	out.Message = answer.Text
	if !answer.End {
		out.Type, out.DataType = hubtelResponse, "input"
	}
	return writeDialect(w, out)
}
