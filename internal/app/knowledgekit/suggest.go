package knowledgekit

import (
	"context"
	"fmt"
	"slices"

	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
)

// Suggest has questions to begin with: about the sample community where everybody may
// ask it, since it tells who has not even said who they are.
func (k *Kit) Suggest(ctx context.Context) ([]instructions.Opening, error) {
	all, err := k.Service.Readable(ctx, knowledge.Caller{})
	if err != nil {
		return nil, fmt.Errorf("list what everybody may ask: %w", err)
	}
	if slices.ContainsFunc(all, func(c knowledge.Collection) bool { return c.Name == knowledge.SampleName }) {
		return instructions.Sample(), nil
	}
	return instructions.Everyday(), nil
}
