package query

// EncodeLong is Encode by the way that bears any order of fields.
func (c *Catalog) EncodeLong(typeName string, wire []byte, limit int) ([]byte, error) {
	e := c.encoder(limit)
	e.long = true
	return e.reply(nil, func(e *encoder) error { return e.message(c.lookup(typeName), wire) })
}

// Scattered reports whether messages of the type were seen out of order.
func (c *Catalog) Scattered(typeName string) bool { return c.lookup(typeName).scattered.Load() }

// Forget drops what was learned about the order of fields.
func (c *Catalog) Forget() {
	for _, p := range *c.types.Load() {
		p.scattered.Store(false)
	}
}
