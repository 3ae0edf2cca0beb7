package ussdhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// InfobipRequest is what Infobip sends at the start of a session and with each
// input.
type InfobipRequest struct {
	MSISDN      string `json:"msisdn"`
	IMSI        string `json:"imsi"`
	ShortCode   string `json:"shortCode"`
	Optional    string `json:"optional"`
	USSDNodeID  string `json:"ussdNodeId"`
	Text        string `json:"text"`
	NetworkName string `json:"networkName"`
	CountryName string `json:"countryName"`
}

// InfobipReply is what Infobip wants back.
type InfobipReply struct {
	ShouldClose      bool   `json:"shouldClose"`
	USSDMenu         string `json:"ussdMenu"`
	ResponseExitCode int    `json:"responseExitCode"`
	ResponseMessage  string `json:"responseMessage"`
}

// InfobipEnd tells that a session is over, and why.
type InfobipEnd struct {
	Reason   string `json:"reason"`
	ExitCode int    `json:"exitCode"`
}

func (a *api) infobip(start bool) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var in InfobipRequest
		if err := readDialect(r, &in); err != nil {
			return writeDialect(w, infobipReply(a.refuse(r, err)))
		}
		req := ussd.Request{
			Dialect: ussd.DialectInfobip, SessionID: r.PathValue("sessionId"), Phone: ussdnumber.E164(in.MSISDN),
			ServiceCode: ussdnumber.ServiceCode(in.ShortCode), Newest: true, Start: start, Text: in.Text,
		}
		if start {
			req.ServiceCode, req.Text = ussdnumber.Dialled(in.Text, in.ShortCode)
		}
		return writeDialect(w, infobipReply(a.hop(r, req)))
	}
}

func infobipReply(answer ussd.Answer) InfobipReply {
	return InfobipReply{ShouldClose: answer.End, USSDMenu: answer.Text, ResponseExitCode: http.StatusOK}
}

// nobody is no telephone's number: what is said of it is said of no session.
const nobody = "-"

// infobipEnd takes the notice that a session is over. It names the session alone, so that
// whoever knows an id could end it: it counts where the list of gateways tells who calls, and
// elsewhere the session ends by itself.
func (a *api) infobipEnd(w http.ResponseWriter, r *http.Request) error {
	var in InfobipEnd
	if err := readDialect(r, &in); err != nil {
		return writeDialect(w, infobipReply(a.refuse(r, err)))
	}
	phone := ""
	if a.gate == nil {
		phone = nobody
	}
	if err := a.end(r, ussd.DialectInfobip, r.PathValue("sessionId"), phone); err != nil {
		return err
	}
	return writeDialect(w, InfobipReply{ShouldClose: true, ResponseExitCode: http.StatusOK})
}
