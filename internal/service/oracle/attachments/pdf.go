package attachments

import (
	"bytes"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// maxPages and pdfTime bound the work that a document can make.
const (
	maxPages = 200
	pdfTime  = 10 * time.Second
)

// pdfText reads the text of a document. The reader is not made for hostile
// files, so that it runs on its own, may panic, and is left behind when it
// takes too long.
func pdfText(data []byte, limit int) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	stop := time.Now().Add(pdfTime)
	go func() {
		defer func() {
			if recover() != nil {
				got <- answer{err: problem("the document is damaged")}
			}
		}()
		r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			got <- answer{err: problem("the document is damaged or locked")}
			return
		}
		var b strings.Builder
		for i := 1; i <= min(r.NumPage(), maxPages) && b.Len() < limit && time.Now().Before(stop); i++ {
			text, err := r.Page(i).GetPlainText(nil)
			if err == nil {
				b.WriteString(text)
				b.WriteByte('\n')
			}
		}
		got <- answer{text: strings.TrimSpace(b.String())}
	}()
	timer := time.NewTimer(pdfTime)
	defer timer.Stop()
	select {
	case a := <-got:
		if a.err == nil && a.text == "" {
			return "", problem("the document holds no text")
		}
		return a.text, a.err
	case <-timer.C:
		return "", problem("the document takes too long to read")
	}
}
