package cli

import (
	"context"
	"os"
	"strconv"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
)

// documentText is the command with which a server reads a document apart from
// itself: see attachments.Apart.
const documentText = "document-text"

func documentCommand() command {
	return command{
		name: documentText, args: "LIMIT < DOCUMENT", summary: "print the text of a document (the server calls this)", hidden: true,
		run: func(_ context.Context, args []string, s shell.IO) error {
			if len(args) != 1 {
				return shell.Usagef("it needs the number of bytes to print")
			}
			limit, err := strconv.Atoi(args[0])
			if err != nil || limit < 1 {
				return shell.Usagef("%q is not a number of bytes", args[0])
			}
			if code := attachments.ReadDocument(s.In, s.Out, limit); code != 0 {
				return shell.ExitError(code)
			}
			return nil
		},
	}
}

// readsDocuments is this program as the reader of documents; nil when nobody
// knows where it is.
func readsDocuments() attachments.Documents {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	return attachments.Apart(program, documentText)
}
