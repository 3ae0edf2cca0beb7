package telephonekit

import (
	"cmp"
	"context"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor/ussdeditorhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const maxMenus = 1 << 20

// MenuDocument is the operator's document of the telephone's menus. Text is what
// USSD_MENU_TEXT says, and file what USSD_MENU names. A node that serves no telephones
// starts with a bad one too.
func MenuDocument(text, file string, limits ussdmenu.Limits, served bool) operatordoc.Definition[*ussdbook.Book] {
	return operatordoc.Definition[*ussdbook.Book]{
		Spared: !served,
		Name:   "menu", Title: "The telephone's menus", Media: "application/yaml", MaxBytes: maxMenus,
		Variable: "USSD_MENU_TEXT", FileVariable: "USSD_MENU", Text: text, File: file, BuiltIn: ussd.DefaultMenuSource(),
		Parse: func(text []byte, from operatordoc.Source) (*ussdbook.Book, error) {
			if from == operatordoc.FromDefault { // it fits every limit
				m, err := ussd.DefaultMenu()
				if err != nil {
					return nil, err
				}
				return ussdbook.Of(m), nil
			}
			name := "menu"
			if from == operatordoc.FromFile {
				name = cmp.Or(file, name)
			}
			return ussd.ParseMenus(context.Background(), name, text, limits) // it is bounded, and stored by who waits for it
		},
	}
}

// MenuEditor has the routes of the editor of menus.
func MenuEditor(limits ussdmenu.Limits) httpserver.Surface {
	return ussdeditorhttp.Surface(ussdeditor.New(limits))
}
