package localchain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query/protosource"
	protospec "github.com/castalia-org/castalia/spec/proto"
)

// kind is a table of records: its name in the seed file, the type of its
// records, and the fields that make their key.
type kind struct {
	name    string
	message protoreflect.FullName
	key     []string
	// title is the field that `castalia chain list` shows beside the key.
	title string
	// replies are the members of a chain's REST replies that hold such records.
	replies []string
}

// kinds are all tables, in the order in which they are listed.
var kinds = []kind{
	{"entities", "ixo.entity.v1beta1.Entity", []string{"id"}, "type", []string{"entity", "entities"}},
	{"documents", "ixo.iid.v1beta1.IidDocument", []string{"id"}, "alsoKnownAs", []string{"iidDocument", "iidDocuments"}},
	{"collections", "ixo.claims.v1beta1.Collection", []string{"id"}, "entity", []string{"collection", "collections"}},
	{"claims", "ixo.claims.v1beta1.Claim", []string{"claim_id"}, "collection_id", []string{"claim", "claims"}},
	{"disputes", "ixo.claims.v1beta1.Dispute", []string{"data.proof"}, "subject_id", []string{"dispute", "disputes"}},
	{"intents", "ixo.claims.v1beta1.Intent", []string{"agent_address", "collection_id", "id"}, "claim_id", []string{"intent", "intents"}},
	{"budgets", "ixo.claims.v1beta1.MemberBudget", []string{"collection_id", "member_address"}, "", []string{"member_budget", "member_budgets"}},
	{"balances", "ixo.claims.v1beta1.AgentDepositBalance", []string{"collection_id", "agent_address"}, "", []string{"balance", "balances"}},
	{"tokens", "ixo.token.v1beta1.Token", []string{"minter", "contract_address"}, "name", []string{"tokenDoc", "tokenDocs"}},
}

// singles are the records of which there is one each.
var singles = map[string]protoreflect.FullName{ //nolint:gosec // a token here is a record of the chain
	"entity": "ixo.entity.v1beta1.Params",
	"claims": "ixo.claims.v1beta1.Params",
	"token":  "ixo.token.v1beta1.Params",
}

// metadataMessage is the type of the records under tokenMetadata.
const metadataMessage = "ixo.token.v1beta1.QueryTokenMetadataResponse"

// schema is the compiled interface of the node.
type schema struct{ files *protoregistry.Files }

func loadSchema(ctx context.Context) (*schema, error) {
	compiled, err := protosource.Compile(ctx, protospec.Files)
	if err != nil {
		return nil, fmt.Errorf("load the embedded chain's interface: %w", err)
	}
	files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: compiled})
	if err != nil {
		return nil, fmt.Errorf("load the embedded chain's interface: %w", err)
	}
	return &schema{files}, nil
}

func (s *schema) message(name protoreflect.FullName) (protoreflect.MessageDescriptor, error) {
	d, err := s.files.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("find %s: it is no message", name)
	}
	return md, nil
}

// record is one message under its key.
type record struct {
	key string
	msg protoreflect.Message
}

// keySeparator cannot occur in a key part.
const keySeparator = "\x00"

// state is everything that the node knows from a block on. It does not change.
type state struct {
	from     int64
	tables   map[string][]record // sorted by key
	params   map[string]protoreflect.Message
	metadata map[string]protoreflect.Message
}

// state checks the records of a seed and makes them ready. What the interface
// does not know comes back as warnings and is left out.
func (s *schema) state(seed Seed) (*state, []string, error) {
	st := &state{
		tables: make(map[string][]record), params: make(map[string]protoreflect.Message),
		metadata: make(map[string]protoreflect.Message),
	}
	var warnings []string
	decode := func(where string, name protoreflect.FullName, raw any) (protoreflect.Message, error) {
		m, warning, err := s.decode(name, raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if warning != "" {
			warnings = append(warnings, where+": "+warning)
		}
		return m, nil
	}
	for _, k := range kinds {
		for i, raw := range seed.Tables[k.name] {
			m, err := decode(fmt.Sprintf("%s[%d]", k.name, i), k.message, raw)
			if err != nil {
				return nil, nil, err
			}
			key, err := k.keyOf(m)
			if err != nil {
				return nil, nil, fmt.Errorf("%s[%d]: %w", k.name, i, err)
			}
			st.tables[k.name] = append(st.tables[k.name], record{key, m})
		}
		slices.SortStableFunc(st.tables[k.name], func(a, b record) int { return cmp.Compare(a.key, b.key) })
		// Of two records with one key the later one counts.
		st.tables[k.name] = slices.Collect(latest(st.tables[k.name]))
	}
	for name, message := range singles {
		m, err := decode("params."+name, message, seed.Params[name])
		if err != nil {
			return nil, nil, err
		}
		st.params[name] = m
	}
	for id, raw := range seed.TokenMetadata {
		m, err := decode("tokenMetadata."+id, metadataMessage, raw)
		if err != nil {
			return nil, nil, err
		}
		st.metadata[id] = m
	}
	return st, warnings, nil
}

func latest(sorted []record) func(func(record) bool) {
	return func(yield func(record) bool) {
		for i, r := range sorted {
			if i+1 < len(sorted) && sorted[i+1].key == r.key {
				continue
			}
			if !yield(r) {
				return
			}
		}
	}
}

// decode reads a record as a chain's gateway would write it.
func (s *schema) decode(name protoreflect.FullName, raw any) (protoreflect.Message, string, error) {
	md, err := s.message(name)
	if err != nil {
		return nil, "", err
	}
	m := dynamicpb.NewMessage(md)
	if raw == nil {
		return m, "", nil
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, "", fmt.Errorf("read the record: %w", err)
	}
	warning := ""
	if err := protojson.Unmarshal(text, m); err != nil {
		strict := err
		m = dynamicpb.NewMessage(md)
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m); err != nil {
			return nil, "", err
		}
		warning = strict.Error()
	}
	scaleDecimals(m)
	return m, warning, nil
}

func (k kind) keyOf(m protoreflect.Message) (string, error) {
	var parts []string
	for _, path := range k.key {
		text := fieldText(m, path)
		if text == "" || strings.Contains(text, keySeparator) {
			return "", fmt.Errorf("the record has no %s", path)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, keySeparator), nil
}

// fieldText reads a string field by its path.
func fieldText(m protoreflect.Message, path string) string {
	names := strings.Split(path, ".")
	for i, name := range names {
		fd := m.Descriptor().Fields().ByTextName(name)
		if fd == nil {
			return ""
		}
		if i == len(names)-1 {
			return m.Get(fd).String()
		}
		m = m.Get(fd).Message()
	}
	return ""
}

// scaleDecimals turns "0.5" into the scaled integer that travels, wherever a
// field is declared a decimal.
func scaleDecimals(m protoreflect.Message) {
	for i := range m.Descriptor().Fields().Len() {
		// A chain always writes its decimals, zero too.
		if fd := m.Descriptor().Fields().Get(i); fd.Kind() == protoreflect.StringKind && !m.Has(fd) && !fd.IsList() &&
			isDecimal(fd) {
			m.Set(fd, protoreflect.ValueOfString("0"))
		}
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Kind() == protoreflect.StringKind && !fd.IsList() && isDecimal(fd):
			if scaled, err := scale(v.String()); err == nil {
				m.Set(fd, protoreflect.ValueOfString(scaled))
			}
		case fd.Message() != nil && fd.IsList():
			for i := range v.List().Len() {
				scaleDecimals(v.List().Get(i).Message())
			}
		case fd.Message() != nil && !fd.IsMap():
			scaleDecimals(v.Message())
		}
		return true
	})
}

// scalarOption is cosmos_proto.scalar.
const scalarOption = 93002

func isDecimal(fd protoreflect.FieldDescriptor) bool {
	options, err := proto.Marshal(fd.Options())
	if err != nil {
		return false
	}
	for len(options) > 0 {
		num, typ, n := protowire.ConsumeTag(options)
		if n < 0 {
			return false
		}
		size := protowire.ConsumeFieldValue(num, typ, options[n:])
		if size < 0 {
			return false
		}
		if num == scalarOption && typ == protowire.BytesType {
			text, _ := protowire.ConsumeString(options[n:])
			return text == "cosmos.Dec"
		}
		options = options[n+size:]
	}
	return false
}

func scale(text string) (string, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "eE/") {
		return "", errors.New("not a decimal")
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(18), nil)))
	if !r.IsInt() {
		return "", errors.New("more than 18 digits after the point")
	}
	return r.Num().String(), nil
}
