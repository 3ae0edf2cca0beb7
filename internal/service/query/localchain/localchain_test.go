package localchain_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/localchain"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var oracle = localchain.Oracle{
	ServiceDID: "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", Name: "Lab oracle",
	APIURL: "http://localhost:3000", SocketURL: "ws://localhost:3000", Model: "guide", Price: "0", Currency: "IXO",
}

// world is the embedded chain behind the gateway, with a clock of its own.
type world struct {
	handler http.Handler
	pool    *upstream.Pool
	seed    string
	clock   atomic.Int64
}

func start(t *testing.T, seed string) *world {
	t.Helper()
	w := &world{seed: filepath.Join(t.TempDir(), "chain.yaml")}
	w.clock.Store(1800000000)
	if seed != "" {
		if err := os.WriteFile(w.seed, []byte(seed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chain, err := localchain.New(t.Context(), localchain.Config{
		Seed: w.seed, Oracle: oracle, Now: func() time.Time { return time.Unix(w.clock.Load(), 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- chain.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	w.pool = querytest.StartPool(t, chain.Upstream())
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	prefixes, err := query.ParsePrefixes([]string{"ixo"})
	if err != nil {
		t.Fatal(err)
	}
	surface, err := queryhttp.Surface(query.New([]query.Chain{w.pool}, query.Config{Prefixes: prefixes}),
		queryhttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(surface); err != nil {
		t.Fatal(err)
	}
	w.handler = server
	return w
}

// get returns the reply as parsed JSON.
func (w *world) get(t *testing.T, target string, status int, headers ...string) map[string]any {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	if rec.Code != status {
		t.Fatalf("%s: %d, want %d: %s", target, rec.Code, status, rec.Body)
	}
	var v map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v: %s", target, err, rec.Body)
	}
	return v
}

// at walks into parsed JSON.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s >= len(l) {
				t.Fatalf("no element %d in %v", s, v)
			}
			v = l[s]
		}
	}
	return v
}

const seedText = `
entities:
  - id: did:ixo:entity:1
    type: protocol
    start_date: 2025-01-01T00:00:00Z
documents:
  - id: did:ixo:entity:1
    service: [{id: x, type: web, serviceEndpoint: https://example.org}]
collections:
  - {id: "1", entity: did:ixo:entity:1, state: PAUSED, quota: 10, adjudicators: [{did: "did:x", reward_percentage: "0.25"}]}
claims:
  - {claim_id: bafy1, collection_id: "1", agent_did: "did:x"}
  - {claim_id: bafy2, collection_id: "1"}
  - {claim_id: bafy3, collection_id: "1"}
disputes:
  - {subject_id: bafy1, target_role: DISPUTE_TARGET_ROLE_SUBMITTER, data: {proof: p1, uri: u}}
intents:
  - {id: "1", agent_address: ixo1a, collection_id: "1"}
budgets:
  - {collection_id: "1", member_address: ixo1m, period: 3600s}
balances:
  - {collection_id: "1", agent_address: ixo1a, amount: [{denom: uixo, amount: "5"}]}
tokens:
  - {minter: ixo1m, contract_address: ixo1c, name: carbon}
tokenMetadata:
  tok1: {name: Carbon token, decimals: "0", properties: {class: did:x}}
params:
  claims: {collection_sequence: 2, network_fee_percentage: "0.10"}
  token: {ixo1155_contract_code: 25}
`

func TestEveryRouteOfTheInterface(t *testing.T) {
	t.Parallel()
	w := start(t, seedText)
	for target, want := range map[string]struct {
		path  []any
		value any
	}{
		"/ixo/entity/did:ixo:entity:1":                                       {[]any{"iidDocument", "service", 0, "serviceEndpoint"}, "https://example.org"},
		"/ixo/entity/did:ixo:entity:1/metadata":                              {[]any{"entity", "type"}, "protocol"},
		"/ixo/entity/did:ixo:entity:1/iiddocument":                           {[]any{"iidDocument", "id"}, "did:ixo:entity:1"},
		"/ixo/entity/did:ixo:entity:1/verified":                              {[]any{"entity_verified"}, false},
		"/ixo/entity?pagination.limit=1&pagination.count_total=true":         {[]any{"pagination", "total"}, "2"},
		"/ixo/entity/params":                                                 {[]any{"params", "createSequence"}, "0"},
		"/ixo/did/dids/did:ixo:entity:1":                                     {[]any{"iidDocument", "metadata"}, nil},
		"/ixo/did/dids":                                                      {[]any{"pagination", "total"}, "2"},
		"/ixo/claims/params":                                                 {[]any{"params", "network_fee_percentage"}, "0.100000000000000000"},
		"/ixo/claims/collection/1":                                           {[]any{"collection", "adjudicators", 0, "reward_percentage"}, "0.250000000000000000"},
		"/ixo/claims/collections":                                            {[]any{"collections", 0, "state"}, "PAUSED"},
		"/ixo/claims/claim/bafy1":                                            {[]any{"claim", "agent_did"}, "did:x"},
		"/ixo/claims/claims?pagination.limit=2":                              {[]any{"claims", 1, "claim_id"}, "bafy2"},
		"/ixo/claims/claims?pagination.reverse=true":                         {[]any{"claims", 0, "claim_id"}, "bafy3"},
		"/ixo/claims/claims?pagination.key=YmFmeTI=":                         {[]any{"claims", 0, "claim_id"}, "bafy2"},
		"/ixo/claims/claims?pagination.offset=2":                             {[]any{"claims", 0, "claim_id"}, "bafy3"},
		"/ixo/claims/dispute/p1":                                             {[]any{"dispute", "data", "uri"}, "u"},
		"/ixo/claims/disputes":                                               {[]any{"disputes", 0, "subject_id"}, "bafy1"},
		"/ixo/claims/dispute-by-subject/bafy1/DISPUTE_TARGET_ROLE_SUBMITTER": {[]any{"dispute", "status"}, "DISPUTE_STATUS_OPEN"},
		"/ixo/claims/disputes-for-subject/bafy1":                             {[]any{"disputes", 0, "target_role"}, "DISPUTE_TARGET_ROLE_SUBMITTER"},
		"/ixo/claims/intent/ixo1a/1/1":                                       {[]any{"intent", "status"}, "ACTIVE"},
		"/ixo/claims/intents":                                                {[]any{"intents", 0, "id"}, "1"},
		"/ixo/claims/collection/1/member/ixo1m":                              {[]any{"member_budget", "period"}, "3600s"},
		"/ixo/claims/collection/1/members":                                   {[]any{"member_budgets", 0, "member_address"}, "ixo1m"},
		"/ixo/claims/collection/1/deposit/ixo1a":                             {[]any{"balance", "amount", 0, "amount"}, "5"},
		"/ixo/claims/collection/1/deposits":                                  {[]any{"balances", 0, "withdrawable_at"}, nil},
		"/ixo/token/params":                                                  {[]any{"params", "ixo1155_contract_code"}, "25"},
		"/ixo/token/metadata/tok1":                                           {[]any{"properties", "class"}, "did:x"},
		"/ixo/token/minter/ixo1m":                                            {[]any{"tokenDocs", 0, "name"}, "carbon"},
		"/ixo/token/minter/ixo1m/ixo1c":                                      {[]any{"tokenDoc", "name"}, "carbon"},
		"/cosmos/base/tendermint/v1beta1/syncing":                            {[]any{"syncing"}, false},
		"/cosmos/base/tendermint/v1beta1/blocks/latest":                      {[]any{"block", "header", "chain_id"}, "local"},
		"/ixo/claim/bafy1":                                                   {[]any{"claim", "claim_id"}, "bafy1"},
		"/did/did:ixo:entity:1":                                              {[]any{"iidDocument", "id"}, "did:ixo:entity:1"},
		"/ixo/entity/" + url.PathEscape("did:ixo:entity:1"):                  {[]any{"entity", "id"}, "did:ixo:entity:1"},
	} {
		if got := at(t, w.get(t, target, http.StatusOK), want.path...); got != want.value {
			t.Errorf("%s: %v is %v, want %v", target, want.path, got, want.value)
		}
	}
	for _, target := range []string{
		"/ixo/entity/none", "/ixo/entity/none/verified", "/ixo/did/dids/none", "/ixo/claims/claim/none", "/ixo/token/metadata/none",
		"/ixo/claims/dispute-by-subject/bafy1/DISPUTE_TARGET_ROLE_EVALUATOR", "/ixo/token/minter/a/b",
	} {
		if got := w.get(t, target, http.StatusNotFound); got["code"] != 5.0 {
			t.Errorf("%s: %v", target, got)
		}
	}
	w.get(t, "/ixo/claims/claims?pagination.key=YQ==&pagination.offset=1", http.StatusInternalServerError)
}

// TestOracleEntity is what the client library reads to find the oracle.
func TestOracleEntity(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	got := w.get(t, "/ixo/entity/"+oracle.DID(), http.StatusOK)
	if at(t, got, "entity", "type") != "oracle" || at(t, got, "iidDocument", "controller", 0) != oracle.ServiceDID {
		t.Errorf("entity: %v", got)
	}
	for i, want := range []string{oracle.APIURL, oracle.SocketURL} {
		if got := at(t, got, "iidDocument", "service", i, "serviceEndpoint"); got != want {
			t.Errorf("service %d: %v", i, got)
		}
	}
	link, _ := at(t, got, "iidDocument", "linkedResource", 1, "serviceEndpoint").(string)
	_, data, _ := strings.Cut(link, "base64,")
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !strings.Contains(string(text), `"price":"0"`) {
		t.Errorf("fee: %s, %v", text, err)
	}
}

// TestSeedChanges counts new records from the next block on, and keeps what
// was said of the blocks before.
func TestSeedChanges(t *testing.T) {
	t.Parallel()
	w := start(t, "claims: [{claim_id: a, collection_id: '1'}]")
	before := w.pool.Head().Height
	change, err := localchain.Import(t.Context(), w.seed, []byte(`{"claims":[{"claim_id":"a","collection_id":"2"},{"claim_id":"b"}],"pagination":{"total":"2"}}`))
	if err != nil || change.Added != 1 || change.Replaced != 1 {
		t.Fatalf("%+v, %v", change, err)
	}
	w.clock.Add(2)
	querytest.WaitFor(t, "the new claim", func() bool {
		w.clock.Add(2)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ixo/claims/claim/b", nil)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		return rec.Code == http.StatusOK
	})
	if got := at(t, w.get(t, "/ixo/claims/claim/a", http.StatusOK), "claim", "collection_id"); got != "2" {
		t.Errorf("claim a is in collection %v", got)
	}
	old := w.get(t, "/ixo/claims/claim/a", http.StatusOK, "x-cosmos-block-height", itoa(before))
	if got := at(t, old, "claim", "collection_id"); got != "1" {
		t.Errorf("at the block before, claim a was in collection %v", got)
	}
	w.get(t, "/ixo/claims/claim/a?height=1", http.StatusBadRequest)
	w.get(t, "/ixo/claims/claim/a?height="+itoa(w.pool.Head().Height+500), http.StatusBadRequest)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chain.yaml")
	for _, text := range []string{"[", "things: []", "claims: 5", "claims: [{collection_id: '1'}]", "claims: [{claim_id: 5}]", "params: {bank: {}}", "params: 1", "tokenMetadata: 1"} {
		if _, err := localchain.Import(t.Context(), path, []byte(text)); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused import left a file")
	}
	change, err := localchain.Import(t.Context(), path, []byte("entities: [{id: a, not_known: 1}]"))
	if err != nil || len(change.Warnings) != 1 {
		t.Errorf("unknown member: %+v, %v", change, err)
	}
	listed, err := localchain.List(t.Context(), path)
	if err != nil || len(listed) != 1 || listed[0].Key != "a" || listed[0].Table != "entities" {
		t.Errorf("list: %+v, %v", listed, err)
	}
	if err := os.WriteFile(path, []byte("claims: 5"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := localchain.New(t.Context(), localchain.Config{Seed: path}); err == nil {
		t.Error("a broken seed did not stop the start")
	}
}

// TestEqualRepliesHaveEqualBytes asks the node itself many times over.
func TestEqualRepliesHaveEqualBytes(t *testing.T) {
	t.Parallel()
	w := start(t, seedText)
	var first []byte
	for range 20 {
		reply, err := w.pool.Invoke(t.Context(), query.Call{Method: "/ixo.entity.v1beta1.Query/EntityList"})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = bytes.Clone(reply.Wire)
		}
		if len(first) == 0 || !bytes.Equal(reply.Wire, first) {
			t.Fatalf("got %x, before that %x", reply.Wire, first)
		}
		reply.Release()
	}
}
