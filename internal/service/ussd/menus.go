package ussd

import (
	"context"
	_ "embed" // the default menu
	"errors"
	"fmt"
	"sync"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdaction"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

//go:embed default.yaml
var defaultMenu []byte

// ParseMenu reads and checks a menu against the registered actions and the
// smallest screen that it will be shown on.
func ParseMenu(name string, source []byte, least ussdmenu.Limit) (*ussdmenu.Menu, error) {
	return ussdmenu.Parse(name, source, ussdaction.Specs(), least)
}

// ParseMenus reads and checks the menus of a text, each for the networks of its codes.
func ParseMenus(ctx context.Context, name string, text []byte, limits ussdmenu.Limits) (*ussdbook.Book, error) {
	return ussdbook.Parse(ctx, name, text, ussdaction.Specs(), limits)
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

// DefaultMenu returns the menu that Castalia ships. It fits every limit. It is read and
// checked once: whoever plays flows asks for it again and again.
func DefaultMenu() (*ussdmenu.Menu, error) { return builtInMenu() }

var builtInMenu = sync.OnceValues(func() (*ussdmenu.Menu, error) {
	m, err := ParseMenu("default.yaml", defaultMenu, ussdmenu.Limit{})
	if err != nil {
		return nil, fmt.Errorf("read the built-in menu: %w", err)
	}
	return m, nil
})
