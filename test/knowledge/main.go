// Command knowledge measures what search finds, quotes and refuses.
//
//	go run ./test/knowledge [-data test/knowledge] [-misses] [-fit] [-strict] [-embeddings URL -embeddings-model MODEL]
//
// It reads documents (DATA/documents/LANG/NAME.md) and questions
// (DATA/questions*.jsonl), loads the documents as collections, one for each
// language, through the service as a server would (files, parsers, passages, sealed
// segments, joins), asks every question, and says how often the passage that
// answers is among the first five, its mean reciprocal rank, and how many of the
// questions that nothing answers are refused. Some questions are held out: they are
// reported apart, and neither the questions nor what became of one is ever printed,
// so that nobody looks at them while tuning. With -fit it prints the weights of
// textindex.Evidence for the questions that are not held out, and what they refuse
// of questions that they were not fitted to. With -embeddings passages are found by
// meaning too, by the service at that address; its key is in EMBEDDINGS_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeembed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "knowledge:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("knowledge", flag.ContinueOnError)
	fs.SetOutput(stderr)
	data := fs.String("data", "test/knowledge", "folder with documents and questions")
	misses := fs.Bool("misses", false, "name the questions that went wrong, of those that are not held out")
	fit := fs.Bool("fit", false, "weigh the evidence anew, on the questions that are not held out, and stop")
	strict := fs.Bool("strict", false, "fail when a bar is missed")
	address := fs.String("embeddings", "", "base address of an OpenAI-compatible service that makes embeddings")
	model := fs.String("embeddings-model", "text-embedding-3-small", "model that it is asked for")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	questions, err := readQuestions(*data)
	if err != nil {
		return err
	}
	var embedder knowledge.Embedder
	if *address != "" {
		if embedder, err = knowledgeembed.New(knowledgeembed.Config{
			BaseURL: *address, Model: *model,
			Key: os.Getenv("EMBEDDINGS_KEY"),
		}); err != nil {
			return err
		}
	}
	c, err := loadCorpus(ctx, *data, embedder)
	if err != nil {
		return err
	}
	defer c.close()
	outcomes := make([]outcome, len(questions))
	for i, q := range questions {
		if outcomes[i], err = c.ask(ctx, q); err != nil {
			return fmt.Errorf("ask %s: %w", q.ID, err)
		}
	}
	if n := c.svc.EmbeddingStats().ByWords; n > 0 {
		return fmt.Errorf("the embeddings service did not answer in time for %d of %d questions: "+
			"the figures would be of words alone; use a smaller model or a faster computer", n, len(questions))
	}
	if *fit {
		fitEvidence(stdout, chosen(outcomes, func(o outcome) bool { return !o.Held }))
		return nil
	}
	if _, err := fmt.Fprintf(stdout, "%d documents, %d passages, %d questions\n\n", c.documents, c.passages, len(questions)); err != nil {
		return err
	}
	met := report(stdout, outcomes)
	if *misses {
		listMisses(stdout, outcomes)
	}
	if *strict && !met {
		return errors.New("a bar is missed")
	}
	return nil
}
