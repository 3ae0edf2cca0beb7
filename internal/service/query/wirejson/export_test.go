package wirejson

// EncodeLong is Encode by the way that bears any order of fields.
func (t *Types) EncodeLong(typeName string, wire []byte, limit int) ([]byte, error) {
	e := t.encoder(limit)
	e.long = true
	return e.reply(nil, func(e *encoder) error { return e.message(t.lookup(typeName), wire) })
}

// Scattered reports whether messages of the type were seen out of order.
func (t *Types) Scattered(typeName string) bool { return t.lookup(typeName).scattered.Load() }

// Forget drops what was learned about the order of fields.
func (t *Types) Forget() {
	for _, p := range *t.types.Load() {
		p.scattered.Store(false)
	}
}
