package knowledgekit

import (
	"bytes"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

// maxSynonyms bounds the document: the index itself would take more.
const maxSynonyms = 256 << 10

// SynonymsDocument is the operator's document of what words mean to the community.
func SynonymsDocument() operatordoc.Definition[*analyse.Synonyms] {
	return operatordoc.Definition[*analyse.Synonyms]{
		Name: "synonyms", Title: "What words mean to the community", Media: "text/plain", MaxBytes: maxSynonyms,
		Parse: func(text []byte, _ operatordoc.Source) (*analyse.Synonyms, error) {
			if len(bytes.TrimSpace(text)) == 0 {
				return nil, nil // nobody has said anything
			}
			s, err := analyse.ParseSynonyms(bytes.NewReader(text))
			if err != nil {
				return nil, fault.Wrap(fault.Invalid, err.Error(), err)
			}
			return s, nil
		},
	}
}
