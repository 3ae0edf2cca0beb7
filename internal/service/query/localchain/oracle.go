package localchain

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Oracle is the oracle that this program runs, as the chain shows it: clients
// resolve its URLs, model and price from its entity.
type Oracle struct {
	// EntityDID names the entity; "" derives one from ServiceDID.
	EntityDID string
	// ServiceDID is the audience of tokens, and the entity's controller. "" is no oracle.
	ServiceDID string
	Name       string
	// APIURL and SocketURL are where clients reach it.
	APIURL, SocketURL string
	Model             string
	// Price is what a message costs, such as "0" and "IXO".
	Price, Currency string
}

// DID returns the entity's DID.
func (o Oracle) DID() string {
	if o.EntityDID != "" || o.ServiceDID == "" {
		return o.EntityDID
	}
	sum := sha256.Sum256([]byte(o.ServiceDID))
	return "did:ixo:entity:" + hex.EncodeToString(sum[:16])
}

// with returns the seed with the oracle's entity in it. A record of the seed
// under the same DID wins.
func (s Seed) with(o Oracle) Seed {
	id := o.DID()
	if id == "" {
		return s
	}
	out := s
	out.Tables = maps.Clone(s.Tables)
	at := time.Unix(genesis, 0).UTC().Format(time.RFC3339) // the same after every start
	if !s.has("entities", id) {
		out.Tables["entities"] = append(slices.Clone(s.Tables["entities"]), map[string]any{
			"id": id, "type": "oracle", "start_date": at, "relayer_node": o.ServiceDID, "entity_verified": true,
			"metadata": map[string]any{"version_id": "1", "created": at, "updated": at},
		})
	}
	if !s.has("documents", id) {
		out.Tables["documents"] = append(slices.Clone(s.Tables["documents"]), o.document(id, at))
	}
	return out
}

func (s Seed) has(table, id string) bool {
	return slices.ContainsFunc(s.Tables[table], func(raw any) bool {
		record, _ := raw.(map[string]any)
		return record["id"] == id
	})
}

// document is what the entity's DID resolves to. The ids with "{id}" are
// written so on living chains too; clients look for them literally.
func (o Oracle) document(id, at string) map[string]any {
	doc := map[string]any{
		"id": id, "alsoKnownAs": o.Name, "controller": []any{o.ServiceDID},
		"metadata": map[string]any{"versionId": "1", "created": at, "updated": at},
		"service": []any{
			map[string]any{"id": "{id}#api", "type": "oracleService", "serviceEndpoint": o.APIURL},
			map[string]any{"id": "{id}#ws", "type": "wsService", "serviceEndpoint": o.SocketURL},
		},
		"linkedResource": []any{
			resource("{id}#model", "Settings", "The model that answers: "+o.Model, map[string]any{"model": o.Model}),
			resource("{id}#fee", "Fees", "What a message costs", map[string]any{
				"@context": "https://schema.org", "@type": "Service", "name": o.Name,
				"offers": map[string]any{"priceSpecification": map[string]any{"price": o.Price, "priceCurrency": o.Currency}},
			}),
			resource("{id}#acard", "agentCard", o.Name, map[string]any{
				"credentialSubject": map[string]any{
					"id": id, "name": o.Name, "model": o.Model,
					"services": []any{map[string]any{
						"id": id + "#chat", "name": "chat", "price": map[string]any{"amount": o.Price, "currency": o.Currency},
					}},
				},
			}),
		},
	}
	if key, ok := strings.CutPrefix(o.ServiceDID, "did:key:"); ok {
		method := o.ServiceDID + "#" + key
		doc["verificationMethod"] = []any{map[string]any{
			"id": method, "type": "Multikey", "controller": o.ServiceDID, "publicKeyMultibase": key,
		}}
		doc["authentication"] = []any{method}
		doc["assertionMethod"] = []any{method}
	}
	return doc
}

// resource carries its content in the link itself, so that it can be read
// without another server.
func resource(id, kindOf, description string, content any) map[string]any {
	text, err := json.Marshal(content)
	if err != nil {
		text = []byte("{}")
	}
	return map[string]any{
		"id": id, "type": kindOf, "description": description, "mediaType": "application/ld+json", "encrypted": "false",
		"serviceEndpoint": "data:application/ld+json;base64," + base64.StdEncoding.EncodeToString(text),
	}
}
