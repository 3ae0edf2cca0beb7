package did

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mr-tron/base58"
	"github.com/multiformats/go-varint"

	"github.com/castalia-org/castalia/plugin/strictjson"
)

// MaxDocument bounds a DID document, and maxMethods how many of its keys are read.
const (
	MaxDocument = 64 << 10
	maxMethods  = 32
)

// Document is what a DID document says of keys and controllers.
type Document struct {
	ID          DID
	Keys        []Key
	Controllers []DID
}

// documentJSON is the part of a DID document that we read. Resolvers may wrap
// it, and an entity's controllers may be one text or a list.
type documentJSON struct {
	ID                 string          `json:"id"`
	Controller         json.RawMessage `json:"controller"`
	VerificationMethod json.RawMessage `json:"verificationMethod"`
	DIDDocument        json.RawMessage `json:"didDocument"`
}

type methodJSON struct {
	ID                 string `json:"id"`
	Type               string `json:"type"`
	PublicKeyMultibase string `json:"publicKeyMultibase"`
	PublicKeyHex       string `json:"publicKeyHex"`
	PublicKeyBase58    string `json:"publicKeyBase58"`
	PublicKeyJwk       *struct {
		Kty string `json:"kty"`
		Crv string `json:"crv"`
		X   string `json:"x"`
	} `json:"publicKeyJwk"`
}

// ParseDocument reads a DID document, bare or in the envelope of a resolver.
// Keys of a kind that cannot be used are left out; a document that is about
// another DID is refused.
func ParseDocument(want DID, data []byte) (Document, error) {
	if len(data) > MaxDocument {
		return Document{}, fmt.Errorf("DID document is longer than %d bytes", MaxDocument)
	}
	var raw documentJSON
	if err := strictjson.Unmarshal(data, &raw); err != nil {
		return Document{}, fmt.Errorf("parse DID document: %w", err)
	}
	if raw.ID == "" && len(raw.DIDDocument) > 0 {
		inner := raw.DIDDocument
		raw = documentJSON{}
		if err := strictjson.Unmarshal(inner, &raw); err != nil {
			return Document{}, fmt.Errorf("parse DID document: %w", err)
		}
	}
	if raw.ID != string(want) {
		return Document{}, errors.New("DID document is about another DID")
	}
	d := Document{ID: want}
	var methods []methodJSON
	if len(raw.VerificationMethod) > 0 {
		if err := strictjson.Unmarshal(raw.VerificationMethod, &methods); err != nil {
			return Document{}, fmt.Errorf("parse verification methods: %w", err)
		}
	}
	for _, m := range methods[:min(len(methods), maxMethods)] {
		if key, ok := m.key(); ok {
			d.Keys = append(d.Keys, key)
		}
	}
	d.Controllers = controllers(raw.Controller)
	return d, nil
}

func controllers(raw json.RawMessage) []DID {
	var list []string
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	var all []DID
	for _, text := range list[:min(len(list), maxMethods)] {
		if d, err := Parse(text); err == nil {
			all = append(all, d)
		}
	}
	return all
}

// key returns the method's key: with its own tag, or 32 raw bytes of Ed25519,
// or 33 raw bytes where the type says secp256k1.
func (m methodJSON) key() (Key, bool) {
	var raw string
	switch {
	case strings.HasPrefix(m.PublicKeyMultibase, "z"):
		raw = fromBase58(m.PublicKeyMultibase[1:])
	case m.PublicKeyHex != "":
		b, err := hex.DecodeString(m.PublicKeyHex)
		if err != nil {
			return Key{}, false
		}
		raw = string(b)
	case m.PublicKeyBase58 != "":
		raw = fromBase58(m.PublicKeyBase58)
	case m.PublicKeyJwk != nil && m.PublicKeyJwk.Kty == "OKP" && m.PublicKeyJwk.Crv == "Ed25519":
		b, err := base64.RawURLEncoding.DecodeString(m.PublicKeyJwk.X)
		if err != nil {
			return Key{}, false
		}
		raw = string(b)
	}
	switch {
	case len(raw) == 32:
		key, err := KeyFromEd25519([]byte(raw))
		return key, err == nil
	case len(raw) == 33 && strings.Contains(strings.ToLower(m.Type), "secp256k1"):
		key, err := KeyFromTagged(string(varint.ToUvarint(tagSecp256k1)) + raw)
		return key, err == nil
	}
	key, err := KeyFromTagged(raw)
	return key, err == nil
}

func fromBase58(text string) string {
	if len(text) > MaxLen {
		return ""
	}
	b, err := base58.Decode(text)
	if err != nil {
		return ""
	}
	return string(b)
}
