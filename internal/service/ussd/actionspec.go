package ussd

import (
	_ "embed" // the default menu
	"fmt"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

//go:embed default.yaml
var defaultMenu []byte

// The actions that a menu may run, and what they answer.
const (
	actionCreateAccount = "createAccount"
	actionVerifyPIN     = "verifyPin"
	actionChangePIN     = "changePin"
	actionLoadProfile   = "loadProfile"
	actionSetLanguage   = "setLanguage"
	actionLogOut        = "logOut"
	actionAskOracle     = "askOracle"
	actionTakeAnswer    = "takeAnswer"
	actionLookUpEntity  = "lookUpEntity"
)

// ActionSpecs describes the registered actions to the menu checker.
func ActionSpecs() map[string]ussdmenu.ActionSpec {
	return map[string]ussdmenu.ActionSpec{
		actionCreateAccount: {Outcomes: []string{"ok", "mismatch", "weak", "full"}, Sets: []string{"account", "name"}},
		actionVerifyPIN:     {Outcomes: []string{"ok", "wrong", "locked"}, Sets: []string{"account", "name", "wait"}},
		actionChangePIN:     {Outcomes: []string{"ok", "mismatch", "weak", "denied"}},
		actionLoadProfile:   {Outcomes: []string{"ok"}, Sets: []string{"account", "name", "email"}},
		actionSetLanguage:   {Outcomes: []string{"ok"}, Sets: []string{"language"}},
		actionLogOut:        {Outcomes: []string{"ok"}},
		actionAskOracle:     {Outcomes: []string{"ok", "promised", "busy", "failed"}, Sets: []string{"answer"}},
		actionTakeAnswer:    {Outcomes: []string{"ok", "pending", "none"}, Sets: []string{"answer"}},
		actionLookUpEntity:  {Outcomes: []string{"ok", "unknown", "failed"}, Sets: []string{"entity_info"}},
	}
}

// ParseMenu reads and checks a menu against the registered actions and the
// smallest screen that it will be shown on.
func ParseMenu(name string, source []byte, least ussdmenu.Limit) (*ussdmenu.Menu, error) {
	return ussdmenu.Parse(name, source, ActionSpecs(), least)
}

// ParseLimits reads how much of a screen networks show, as USSD_SCREEN_LIMIT has it.
func ParseLimits(text string) (ussdmenu.Limits, error) {
	return ussdmenu.ParseLimits(text, Dialects())
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
