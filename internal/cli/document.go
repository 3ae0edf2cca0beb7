package cli

import (
	"context"
	"os"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/docreader"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
)

// readDocument is the command with which a server reads a document apart from
// itself: see package docreader.
const readDocument = "read-document"

func documentCommand() command {
	return command{
		name: readDocument, args: "< REQUEST", summary: "read a document (the server calls this)", hidden: true,
		run: func(_ context.Context, args []string, s shell.IO) error {
			if len(args) != 0 {
				return shell.Usagef("it reads from the standard input")
			}
			if code := docreader.Serve(formats.All(), s.In, s.Out); code != 0 {
				return shell.ExitError(code)
			}
			return nil
		},
	}
}

// readsDocuments is this program as the reader of documents; nil when nobody
// knows where it is.
func readsDocuments() *docreader.Reader {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	return docreader.New(program, readDocument)
}
