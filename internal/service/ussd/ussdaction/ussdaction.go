// Package ussdaction names the actions that a menu may run, and says what each answers:
// its outcomes, and the variables that it sets. Package ussd carries them out.
package ussdaction

import (
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// The actions that a menu may run, and what they answer.
const (
	CreateAccount    = "createAccount"
	VerifyPIN        = "verifyPin"
	ChangePIN        = "changePin"
	ListAccounts     = "listAccounts"
	ChooseAccount    = "chooseAccount"
	CheckResetCode   = "checkResetCode"
	ResetPIN         = "resetPin"
	CheckLinkCode    = "checkLinkCode"
	LinkAccount      = "linkAccount"
	UnlinkAccount    = "unlinkAccount"
	CheckKeyCode     = "checkKeyCode"
	AskNewKey        = "askNewKey"
	LoadKeyRequest   = "loadKeyRequest"
	CancelKeyRequest = "cancelKeyRequest"
	LoadProfile      = "loadProfile"
	SetLanguage      = "setLanguage"
	LogOut           = "logOut"
	AskOracle        = "askOracle"
	TakeAnswer       = "takeAnswer"
	Decide           = "decide"
	LookUpEntity     = "lookUpEntity"
	AskDocuments     = "askDocuments"
	AskPeople        = "askPeople"
	StoreForm        = "storeForm"
	ReadList         = "readList"
	ChooseRow        = "chooseRow"
	CallWebhook      = "callWebhook"
)

// Specs describes the registered actions to the menu checker.
func Specs() map[string]ussdmenu.ActionSpec {
	return map[string]ussdmenu.ActionSpec{
		CreateAccount:    {Outcomes: []string{"ok", "mismatch", "weak", "full"}, Sets: []string{"account", "name"}},
		VerifyPIN:        {Outcomes: []string{"ok", "wrong", "locked"}, Sets: []string{"account", "name", "wait"}},
		ChangePIN:        {Outcomes: []string{"ok", "mismatch", "weak", "denied"}},
		ListAccounts:     {Outcomes: []string{"ok", "none"}, Sets: []string{"accounts"}},
		ChooseAccount:    {Outcomes: []string{"ok", "wrong"}, Sets: []string{"account"}},
		CheckResetCode:   {Outcomes: []string{"ok", "wrong", "locked"}, Sets: []string{"account", "wait"}},
		ResetPIN:         {Outcomes: []string{"ok", "mismatch", "weak", "denied"}, Sets: []string{"account", "name"}},
		CheckLinkCode:    {Outcomes: []string{"ok", "wrong", "locked", "denied"}, Sets: []string{"account", "person", "wait"}},
		LinkAccount:      {Outcomes: []string{"ok", "denied"}},
		UnlinkAccount:    {Outcomes: []string{"ok", "denied"}},
		CheckKeyCode:     {Outcomes: []string{"ok", "wrong", "locked", "denied"}, Sets: []string{"account", "person", "wait"}},
		AskNewKey:        {Outcomes: []string{"ok", "denied"}},
		LoadKeyRequest:   {Outcomes: []string{"ok", "none"}, Sets: []string{"person", "asked"}},
		CancelKeyRequest: {Outcomes: []string{"ok"}},
		LoadProfile:      {Outcomes: []string{"ok"}, Sets: []string{"account", "name", "email"}},
		SetLanguage:      {Outcomes: []string{"ok"}, Sets: []string{"language"}},
		LogOut:           {Outcomes: []string{"ok"}},
		AskOracle:        {Outcomes: []string{"ok", "promised", "busy", "failed"}, Sets: []string{"answer"}},
		TakeAnswer:       {Outcomes: []string{"ok", "pending", "none"}, Sets: []string{"answer"}},
		Decide:           {Outcomes: []string{"ok", "promised", "over", "failed"}, Sets: []string{"answer"}},
		LookUpEntity:     {Outcomes: []string{"ok", "unknown", "failed"}, Sets: []string{"entity_info"}},
		AskDocuments:     {Outcomes: []string{"ok", "unknown", "failed"}, Sets: []string{"answer"}},
		AskPeople:        {Outcomes: []string{"ok", "busy", "failed"}},
		StoreForm:        {Outcomes: []string{"ok", "refused", "invalid"}, Form: true},
		ReadList: {
			Outcomes: []string{ussdlist.OK, ussdlist.None, ussdlist.Failed}, Sets: []string{"rows", "found"}, List: true,
		},
		ChooseRow: {
			Outcomes: []string{ussdlist.OK, ussdlist.Wrong, ussdlist.Gone, ussdlist.Failed}, List: true, Row: true,
		},
		CallWebhook: {Outcomes: ussdhook.Outcomes(), Webhook: true},
	}
}
