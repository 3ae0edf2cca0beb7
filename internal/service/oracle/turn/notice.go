package turn

import (
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// notices say why an answer ended other than by itself, and what can be done.
var notices = map[string]string{
	wire.FinishLength:  "(The answer was cut off: it reached the longest length that the model may write. Ask to go on.)",
	wire.FinishFilter:  "(The provider's filter ended this answer. Ask in other words.)",
	wire.FinishRefusal: "(The model declined to answer this. Ask in other words.)",
	wire.FinishWindow:  "(The answer was cut off: the conversation fills the model. Begin a new one, or ask to go on.)",
}

// shortened is what the user is told, once in a conversation, when it became too long.
const shortened = "(This conversation no longer fits the model, so its older part was left out. Begin a new one where that matters.)"

// toldShortened reports whether the user was told before. What is behind a summary
// was told when that was made.
func toldShortened(session oracle.Session, stored []oracle.Message) bool {
	return session.Summary != "" || slices.ContainsFunc(stored, func(m oracle.Message) bool {
		return m.Role == oracle.AI && strings.HasSuffix(m.Content, shortened)
	})
}

// nothing is said when a model ended a turn without a word.
const nothing = "(The model gave no answer. Please try again.)"

// notice is what the user is told of the end of a turn that is no failure, or
// nothing. It is part of the transcript, so that it is there after a reload.
func notice(s agent.State) string {
	said := strings.TrimSpace(s.Text()) != ""
	text, ok := notices[s.Finish]
	switch {
	case !ok && !said:
		return nothing
	case ok && said:
		return "\n\n" + text
	}
	return text
}
