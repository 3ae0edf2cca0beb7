package knowledgetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Outbox is an outbox that keeps what it hears: namespace, kind and data.
type Outbox []string

// EmitIn implements knowledgesql.Outbox.
func (o *Outbox) EmitIn(_ context.Context, _ sqldb.Querier, namespace, kind string, _ time.Time, data any) error {
	text, err := json.Marshal(data)
	*o = append(*o, fmt.Sprintf("%s %s %s", namespace, kind, text))
	return err
}
