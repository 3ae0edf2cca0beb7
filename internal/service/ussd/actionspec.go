package ussd

import (
	"context"
	_ "embed" // the default menu
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

//go:embed default.yaml
var defaultMenu []byte

// The actions that a menu may run, and what they answer.
const (
	actionCreateAccount  = "createAccount"
	actionVerifyPIN      = "verifyPin"
	actionChangePIN      = "changePin"
	actionListAccounts   = "listAccounts"
	actionChooseAccount  = "chooseAccount"
	actionCheckResetCode = "checkResetCode"
	actionResetPIN       = "resetPin"
	actionCheckLinkCode  = "checkLinkCode"
	actionLinkAccount    = "linkAccount"
	actionUnlinkAccount  = "unlinkAccount"
	actionLoadProfile    = "loadProfile"
	actionSetLanguage    = "setLanguage"
	actionLogOut         = "logOut"
	actionAskOracle      = "askOracle"
	actionTakeAnswer     = "takeAnswer"
	actionDecide         = "decide"
	actionLookUpEntity   = "lookUpEntity"
	actionAskDocuments   = "askDocuments"
	actionAskPeople      = "askPeople"
	actionStoreForm      = "storeForm"
	actionReadList       = "readList"
	actionCallWebhook    = "callWebhook"
)

// ActionSpecs describes the registered actions to the menu checker.
func ActionSpecs() map[string]ussdmenu.ActionSpec {
	return map[string]ussdmenu.ActionSpec{
		actionCreateAccount:  {Outcomes: []string{"ok", "mismatch", "weak", "full"}, Sets: []string{"account", "name"}},
		actionVerifyPIN:      {Outcomes: []string{"ok", "wrong", "locked"}, Sets: []string{"account", "name", "wait"}},
		actionChangePIN:      {Outcomes: []string{"ok", "mismatch", "weak", "denied"}},
		actionListAccounts:   {Outcomes: []string{"ok", "none"}, Sets: []string{"accounts"}},
		actionChooseAccount:  {Outcomes: []string{"ok", "wrong"}, Sets: []string{"account"}},
		actionCheckResetCode: {Outcomes: []string{"ok", "wrong", "locked"}, Sets: []string{"account", "wait"}},
		actionResetPIN:       {Outcomes: []string{"ok", "mismatch", "weak", "denied"}, Sets: []string{"account", "name"}},
		actionCheckLinkCode:  {Outcomes: []string{"ok", "wrong", "locked", "denied"}, Sets: []string{"account", "person", "wait"}},
		actionLinkAccount:    {Outcomes: []string{"ok", "denied"}},
		actionUnlinkAccount:  {Outcomes: []string{"ok", "denied"}},
		actionLoadProfile:    {Outcomes: []string{"ok"}, Sets: []string{"account", "name", "email"}},
		actionSetLanguage:    {Outcomes: []string{"ok"}, Sets: []string{"language"}},
		actionLogOut:         {Outcomes: []string{"ok"}},
		actionAskOracle:      {Outcomes: []string{"ok", "promised", "busy", "failed"}, Sets: []string{"answer"}},
		actionTakeAnswer:     {Outcomes: []string{"ok", "pending", "none"}, Sets: []string{"answer"}},
		actionDecide:         {Outcomes: []string{"ok", "promised", "over", "failed"}, Sets: []string{"answer"}},
		actionLookUpEntity:   {Outcomes: []string{"ok", "unknown", "failed"}, Sets: []string{"entity_info"}},
		actionAskDocuments:   {Outcomes: []string{"ok", "unknown", "failed"}, Sets: []string{"answer"}},
		actionAskPeople:      {Outcomes: []string{"ok", "busy", "failed"}},
		actionStoreForm:      {Outcomes: []string{"ok", "refused", "invalid"}, Form: true},
		actionReadList:       {Outcomes: []string{"ok", "none", "failed"}, Sets: []string{"rows", "found"}, List: true},
		actionCallWebhook:    {Outcomes: ussdhook.Outcomes(), Webhook: true},
	}
}

// ParseMenu reads and checks a menu against the registered actions and the
// smallest screen that it will be shown on.
func ParseMenu(name string, source []byte, least ussdmenu.Limit) (*ussdmenu.Menu, error) {
	return ussdmenu.Parse(name, source, ActionSpecs(), least)
}

// ParseMenus reads and checks the menus of a text, each for the networks of its codes.
func ParseMenus(ctx context.Context, name string, text []byte, limits ussdmenu.Limits) (*ussdbook.Book, error) {
	return ussdbook.Parse(ctx, name, text, ActionSpecs(), limits)
}

// storedMenu reads a version that a session began on; ErrNoMenu when a newer program's
// checker refuses it. It was checked for the networks of its time; what they do not
// show is paged.
func storedMenu(version string, source []byte) (*ussdmenu.Menu, error) {
	m, err := ParseMenu("menu "+version, source, ussdmenu.Message())
	if err != nil {
		return nil, errors.Join(ErrNoMenu, err)
	}
	return m, nil
}

// ParseLimits reads how much of a screen networks show, as USSD_SCREEN_LIMIT has
// it; data names the dialects that are written as data.
func ParseLimits(text string, data ...string) (ussdmenu.Limits, error) {
	return ussdmenu.ParseLimits(text, append(Dialects(), data...))
}

// DefaultMenuSource returns the YAML of the menu that Castalia ships.
func DefaultMenuSource() []byte { return append([]byte(nil), defaultMenu...) }

// DefaultMenu returns the menu that Castalia ships. It fits every limit.
func DefaultMenu() (*ussdmenu.Menu, error) {
	m, err := ParseMenu("default.yaml", defaultMenu, ussdmenu.Limit{})
	if err != nil {
		return nil, fmt.Errorf("read the built-in menu: %w", err)
	}
	return m, nil
}
