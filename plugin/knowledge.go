package plugin

import (
	"context"
	"encoding/json"
)

// Knowledge is the community's documents, as far as the user may read them.
type Knowledge interface {
	// Tools lists what can be asked, with schemas: names knowledge_*. It is empty
	// when there is nothing that the user may read.
	Tools(ctx context.Context) ([]ToolSpec, error)
	// Call runs one of them. What it returns quotes documents between marks.
	Call(ctx context.Context, tool string, args json.RawMessage) (Result, error)
}
