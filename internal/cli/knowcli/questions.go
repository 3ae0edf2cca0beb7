package knowcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeclient"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
)

func runQuestions(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("knowledge questions", s)
	mine := fs.Bool("mine", false, "what you have asked people, with their answers")
	state := fs.String("state", "waiting", "`STATE` of those that are listed: waiting, answered or dismissed")
	everybodys := fs.Bool("operator", false, "as an operator: the questions of every collection")
	open := remoteFlags(fs, s)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	if *everybodys {
		r.Client = r.AsOperator()
	}
	var all []knowledgeclient.Question
	if *mine {
		all, err = r.MyQuestions(ctx)
	} else {
		all, err = r.Questions(ctx, *state)
	}
	if err != nil {
		return err
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.Err, "There are none.")
		return err
	}
	for _, q := range all {
		if err := printQuestion(s.Out, q); err != nil {
			return err
		}
	}
	return nil
}

func printQuestion(w io.Writer, q knowledgeclient.Question) error {
	from := ""
	if q.From != "" {
		from = ", from " + q.From
	}
	_, err := fmt.Fprintf(w, "%s  %s\n  %s, %s, %s%s\n", q.ID, shell.Printable(q.Question), q.State,
		shell.Printable(q.CollectionName), q.AskedAt, shell.Printable(from))
	if q.Answer != "" && err == nil {
		_, err = fmt.Fprintf(w, "  answer: %s\n", shell.Printable(q.Answer))
	}
	return err
}

func runAnswer(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("knowledge answer", s)
	keep := fs.Bool("keep", false, "keep this answer and reuse it for the same question")
	question := fs.String("question", "", "`TEXT` of the question that is kept, if not the asker's")
	dismiss := fs.Bool("dismiss", false, "do not answer: dismiss the question")
	forget := fs.Bool("forget", false, "forget the question, and take back what was kept of it")
	everybodys := fs.Bool("operator", false, "as an operator: the questions of every collection")
	open := remoteFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return shell.Usagef("expected the id of a question")
	}
	id, answer := rest[0], strings.Join(rest[1:], " ")
	if (*dismiss || *forget) == (answer != "") {
		return shell.Usagef("expected an answer, or --dismiss, or --forget")
	}
	r, err := open(ctx)
	if err != nil {
		return err
	}
	if *everybodys {
		r.Client = r.AsOperator()
	}
	switch {
	case *forget:
		err = r.RemoveQuestion(ctx, id)
	case *dismiss:
		err = r.DismissQuestion(ctx, id)
	default:
		_, err = r.AnswerQuestion(ctx, id, knowledgehttp.ReplyBody{Answer: answer, Keep: *keep, Question: *question})
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Err, "Done.")
	return err
}

// sendOn sends a question that no document answered to people.
func (r remote) sendOn(ctx context.Context, question string, showMe bool) error {
	q, err := r.AskPeople(ctx, knowledgehttp.QuestionBody{Question: question, ShowMe: showMe})
	if refused, ok := errors.AsType[*knowledgeclient.StatusError](err); ok && refused.Status == 404 {
		return errors.New("there is no collection whose people could be asked")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.io.Out, "Your question is with the people of %s. `castalia knowledge questions --mine` shows their answer.\n", shell.Printable(q.CollectionName))
	return err
}
