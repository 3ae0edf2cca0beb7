package localchain

import (
	"slices"
	"sort"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// lookup says which record answers a method: the table, the request's fields
// that make the key, and the reply's field.
type lookup struct {
	table string
	key   []string
	field string
}

var lookups = map[protoreflect.FullName]lookup{
	"ixo.iid.v1beta1.Query.IidDocument":            {"documents", []string{"id"}, "iidDocument"},
	"ixo.entity.v1beta1.Query.EntityMetaData":      {"entities", []string{"id"}, "entity"},
	"ixo.entity.v1beta1.Query.EntityIidDocument":   {"documents", []string{"id"}, "iidDocument"},
	"ixo.claims.v1beta1.Query.Collection":          {"collections", []string{"id"}, "collection"},
	"ixo.claims.v1beta1.Query.Claim":               {"claims", []string{"id"}, "claim"},
	"ixo.claims.v1beta1.Query.Dispute":             {"disputes", []string{"proof"}, "dispute"},
	"ixo.claims.v1beta1.Query.Intent":              {"intents", []string{"agentAddress", "collectionId", "id"}, "intent"},
	"ixo.claims.v1beta1.Query.CollectionMember":    {"budgets", []string{"collectionId", "memberAddress"}, "member_budget"},
	"ixo.claims.v1beta1.Query.AgentDepositBalance": {"balances", []string{"collectionId", "agentAddress"}, "balance"},
	"ixo.token.v1beta1.Query.TokenDoc":             {"tokens", []string{"minter", "contract_address"}, "tokenDoc"},
}

// listing says which records a method lists: those of the table whose key
// starts with the request's fields.
type listing struct {
	table  string
	prefix []string
	field  string
}

var listings = map[protoreflect.FullName]listing{
	"ixo.iid.v1beta1.Query.IidDocuments":               {"documents", nil, "iidDocuments"},
	"ixo.entity.v1beta1.Query.EntityList":              {"entities", nil, "entities"},
	"ixo.claims.v1beta1.Query.CollectionList":          {"collections", nil, "collections"},
	"ixo.claims.v1beta1.Query.ClaimList":               {"claims", nil, "claims"},
	"ixo.claims.v1beta1.Query.DisputeList":             {"disputes", nil, "disputes"},
	"ixo.claims.v1beta1.Query.IntentList":              {"intents", nil, "intents"},
	"ixo.claims.v1beta1.Query.CollectionMemberList":    {"budgets", []string{"collectionId"}, "member_budgets"},
	"ixo.claims.v1beta1.Query.AgentDepositBalanceList": {"balances", []string{"collectionId"}, "balances"},
	"ixo.token.v1beta1.Query.TokenList":                {"tokens", []string{"minter"}, "tokenDocs"},
}

// answer fills the reply of a method.
func (s *state) answer(md protoreflect.MethodDescriptor, request, reply protoreflect.Message, b block) error {
	if l, ok := lookups[md.FullName()]; ok {
		return s.one(l, request, reply)
	}
	if l, ok := listings[md.FullName()]; ok {
		return s.list(l, request, reply)
	}
	switch md.FullName() {
	case "ixo.entity.v1beta1.Query.Params":
		set(reply, "params", s.params["entity"])
	case "ixo.claims.v1beta1.Query.Params":
		set(reply, "params", s.params["claims"])
	case "ixo.token.v1beta1.Query.Params":
		set(reply, "params", s.params["token"])
	case "ixo.entity.v1beta1.Query.Entity":
		if err := s.one(lookup{"entities", []string{"id"}, "entity"}, request, reply); err != nil {
			return err
		}
		if doc := s.find("documents", fieldText(request, "id")); doc != nil {
			set(reply, "iidDocument", doc)
		}
	case "ixo.entity.v1beta1.Query.EntityVerified":
		entity := s.find("entities", fieldText(request, "id"))
		if entity == nil {
			return notFound("entities", request)
		}
		verified := entity.Get(entity.Descriptor().Fields().ByName("entity_verified"))
		reply.Set(reply.Descriptor().Fields().ByName("entity_verified"), verified)
	case "ixo.token.v1beta1.Query.TokenMetadata":
		m := s.metadata[fieldText(request, "id")]
		if m == nil {
			return notFound("token metadata", request)
		}
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			reply.Set(reply.Descriptor().Fields().ByNumber(fd.Number()), v)
			return true
		})
	case "ixo.claims.v1beta1.Query.DisputeBySubject":
		return s.disputeBySubject(request, reply)
	case "ixo.claims.v1beta1.Query.DisputeListForSubject":
		list := reply.Mutable(reply.Descriptor().Fields().ByName("disputes")).List()
		for _, r := range s.tables["disputes"] {
			if fieldText(r.msg, "subject_id") == fieldText(request, "subjectId") {
				list.Append(protoreflect.ValueOfMessage(r.msg))
			}
		}
	case "cosmos.base.tendermint.v1beta1.Service.GetSyncing": // never
	case "cosmos.base.tendermint.v1beta1.Service.GetLatestBlock":
		fillBlock(reply, b)
	default:
		return status.Errorf(codes.Unimplemented, "%s is not served", md.FullName())
	}
	return nil
}

func set(m protoreflect.Message, field string, value protoreflect.Message) {
	m.Set(m.Descriptor().Fields().ByTextName(field), protoreflect.ValueOfMessage(value))
}

func (s *state) find(table, key string) protoreflect.Message {
	records := s.tables[table]
	i := sort.Search(len(records), func(i int) bool { return records[i].key >= key })
	if i < len(records) && records[i].key == key {
		return records[i].msg
	}
	return nil
}

func requestKey(request protoreflect.Message, fields []string) string {
	parts := make([]string, len(fields))
	for i, name := range fields {
		parts[i] = fieldText(request, name)
	}
	return strings.Join(parts, keySeparator)
}

func (s *state) one(l lookup, request, reply protoreflect.Message) error {
	m := s.find(l.table, requestKey(request, l.key))
	if m == nil {
		return notFound(l.table, request)
	}
	set(reply, l.field, m)
	return nil
}

// nouns name what was not found.
var nouns = map[string]string{
	"documents": "did document", "entities": "entity", "collections": "collection", "claims": "claim", "disputes": "dispute",
	"intents": "intent", "budgets": "member budget", "balances": "deposit balance", "tokens": "token",
}

func notFound(table string, request protoreflect.Message) error {
	noun, ok := nouns[table]
	if !ok {
		noun = table
	}
	if id := fieldText(request, "id"); id != "" {
		return status.Errorf(codes.NotFound, "%s not found: %s", noun, id)
	}
	return status.Errorf(codes.NotFound, "%s not found", noun)
}

func (s *state) disputeBySubject(request, reply protoreflect.Message) error {
	role := request.Get(request.Descriptor().Fields().ByName("targetRole")).Enum()
	for _, r := range s.tables["disputes"] {
		if fieldText(r.msg, "subject_id") == fieldText(request, "subjectId") &&
			r.msg.Get(r.msg.Descriptor().Fields().ByName("target_role")).Enum() == role {
			set(reply, "dispute", r.msg)
			return nil
		}
	}
	return notFound("disputes", request)
}

// defaultPage is the size of a page when the client names none.
const defaultPage = 100

// list writes one page: by key or by offset, forwards or backwards.
func (s *state) list(l listing, request, reply protoreflect.Message) error {
	page := request.Get(request.Descriptor().Fields().ByName("pagination")).Message()
	get := func(name protoreflect.Name) protoreflect.Value {
		return page.Get(page.Descriptor().Fields().ByName(name))
	}
	key, offset, limit := get("key").Bytes(), get("offset").Uint(), get("limit").Uint()
	count := get("count_total").Bool() || limit == 0
	if len(key) > 0 && offset > 0 {
		return status.Error(codes.Internal, "invalid request, either offset or key is expected, got both")
	}
	if limit == 0 {
		limit = defaultPage
	}
	records := s.tables[l.table]
	if l.prefix != nil {
		prefix := requestKey(request, l.prefix) + keySeparator
		records = slices.DeleteFunc(slices.Clone(records), func(r record) bool { return !strings.HasPrefix(r.key, prefix) })
	}
	if get("reverse").Bool() {
		records = slices.Clone(records)
		slices.Reverse(records)
	}
	total := uint64(len(records))
	switch {
	case len(key) > 0:
		at := slices.IndexFunc(records, func(r record) bool {
			return get("reverse").Bool() && r.key <= string(key) || !get("reverse").Bool() && r.key >= string(key)
		})
		if at < 0 {
			at = len(records)
		}
		records = records[at:]
	default:
		records = records[min(offset, total):]
	}
	rest := records[min(limit, uint64(len(records))):]
	out := reply.Mutable(reply.Descriptor().Fields().ByTextName(l.field)).List()
	for _, r := range records[:len(records)-len(rest)] {
		out.Append(protoreflect.ValueOfMessage(r.msg))
	}
	answer := reply.Mutable(reply.Descriptor().Fields().ByName("pagination")).Message()
	if len(rest) > 0 {
		answer.Set(answer.Descriptor().Fields().ByName("next_key"), protoreflect.ValueOfBytes([]byte(rest[0].key)))
	}
	if count && len(key) == 0 {
		answer.Set(answer.Descriptor().Fields().ByName("total"), protoreflect.ValueOfUint64(total))
	}
	return nil
}

func fillBlock(reply protoreflect.Message, b block) {
	header := reply.Mutable(reply.Descriptor().Fields().ByName("block")).Message()
	header = header.Mutable(header.Descriptor().Fields().ByName("header")).Message()
	fields := header.Descriptor().Fields()
	header.Set(fields.ByName("chain_id"), protoreflect.ValueOfString(Name))
	header.Set(fields.ByName("height"), protoreflect.ValueOfInt64(b.height))
	at := header.Mutable(fields.ByName("time")).Message()
	at.Set(at.Descriptor().Fields().ByName("seconds"), protoreflect.ValueOfInt64(b.time.Unix()))
}
