package identity

// Document is the DID document at /.well-known/did.json. Clients read its id to
// learn the audience of their tokens.
type Document struct {
	Context            []string             `json:"@context"`
	ID                 string               `json:"id"`
	AlsoKnownAs        []string             `json:"alsoKnownAs,omitempty"`
	VerificationMethod []VerificationMethod `json:"verificationMethod"`
	Authentication     []string             `json:"authentication"`
	AssertionMethod    []string             `json:"assertionMethod"`
}

// VerificationMethod is one key of a DID document.
type VerificationMethod struct {
	ID                 string `json:"id"`
	Type               string `json:"type"`
	Controller         string `json:"controller"`
	PublicKeyMultibase string `json:"publicKeyMultibase"`
}

// Document returns the service's own DID document.
func (s *Service) Document() Document {
	id := s.DID()
	key := s.cfg.Signer.Key().DID().ID()
	method := id + "#" + key
	d := Document{
		Context: []string{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/ed25519-2020/v1"},
		ID:      id,
		VerificationMethod: []VerificationMethod{{
			ID: method, Type: "Ed25519VerificationKey2020", Controller: id, PublicKeyMultibase: key,
		}},
		Authentication:  []string{method},
		AssertionMethod: []string{method},
	}
	if s.cfg.EntityDID != id {
		d.AlsoKnownAs = []string{s.cfg.EntityDID}
	}
	return d
}
