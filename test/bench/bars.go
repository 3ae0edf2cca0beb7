package main

import (
	"bufio"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// group is a set of benchmarks that is run together.
type group struct {
	name, about string
	limit       time.Duration
	commands    [][]string
	bars        []bar
}

type kind uint8

const (
	reported kind = iota
	atLeast
	atMost
)

// bar is one figure: where the output has it and what it should be.
type bar struct {
	what string
	kind kind
	want float64
	unit string
	// line is the benchmark's name and metrics are added up.
	line    string
	metrics []string
}

func (b bar) write(v float64) string {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if v >= 1000 {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSpace(text + " " + b.unit)
}

// value finds the figure; NaN says that it is not there.
func (b bar) value(values map[string]float64) float64 {
	sum := 0.0
	for _, m := range b.metrics {
		v, ok := values[b.line+" "+m]
		if !ok {
			return math.NaN()
		}
		sum += v
	}
	return sum
}

// A line of `go test -bench`, without the number of processors.
var benchLine = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// parse reads the output of benchmarks and of the query comparison into
// "name metric" -> value.
func parse(said string) map[string]float64 {
	values := make(map[string]float64)
	route := ""
	lines := bufio.NewScanner(strings.NewReader(said))
	for lines.Scan() {
		line := lines.Text()
		if m := benchLine.FindStringSubmatch(line); m != nil {
			fields := strings.Fields(m[2])
			for i := 0; i+1 < len(fields); i += 2 {
				if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
					values[m[1]+" "+fields[i+1]] = v
				}
			}
			continue
		}
		// The comparison: a route, then arm, req/s, ratio, p50, p99, CPU, ratio.
		f := strings.Fields(line)
		if len(f) == 7 && strings.HasSuffix(f[2], "x") && strings.HasSuffix(f[6], "x") {
			for place, metric := range map[int]string{2: "rate-ratio", 6: "cpu-ratio"} {
				if v, err := strconv.ParseFloat(strings.TrimSuffix(f[place], "x"), 64); err == nil {
					values[route+"/"+f[0]+" "+metric] = v
				}
			}
			continue
		}
		if line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "arm ") {
			route = line
		}
	}
	return values
}

func gotest(bench, pkg string) []string {
	return []string{"go", "test", "-run", "^$", "-bench", bench, "-benchmem", "-timeout", "10m", pkg}
}

// groups are all benchmarks that have something to say, with their bars.
func groups() []group {
	return []group{
		{
			name: "identity", about: "verifying credentials, beside bare Ed25519", limit: 2 * time.Minute,
			commands: [][]string{gotest(".", "./internal/protocol/ucan"), gotest(".", "./internal/identity")},
			bars: []bar{
				{"self-signed invocation, times a bare verification", atMost, 1.3, "x", "BenchmarkVerifySelfIssued", []string{"x-bare"}},
				{"its allocations", atMost, 40, "", "BenchmarkVerifySelfIssued", []string{"allocs/op"}},
				{"chain of three hops, times its bare verifications", reported, 0, "x", "BenchmarkVerifyThreeHops", []string{"x-bare"}},
				{"remembered token, times faster than the first time", atLeast, 50, "x", "BenchmarkAuthenticate", []string{"x-faster"}},
			},
		},
		{
			name: "cid", about: "content identifiers and sealing, beside raw SHA-256 and AES-256-GCM", limit: 2 * time.Minute,
			commands: [][]string{gotest(".", "./internal/protocol/cid"), gotest(".", "./internal/protocol/seal")},
			bars: []bar{
				{"CID on one core, times SHA-256 on one core", atLeast, 0.95, "x", "BenchmarkSum/one-worker", []string{"x-sha256"}},
				{"CID on all cores, times SHA-256 on one core", atLeast, 1.7, "x", "BenchmarkSum/all-cores", []string{"x-sha256"}},
				{"sealing, times raw AES-256-GCM", reported, 0, "x", "BenchmarkSealer", []string{"x-aes-gcm"}},
			},
		},
		{
			name: "files", about: "the file store, beside raw SHA-256, bare inserts, versitygw and a plain server", limit: 9 * time.Minute,
			commands: [][]string{
				append(gotest("BenchmarkTransfer|BenchmarkSmallFilesByHTTP|BenchmarkSyncOfEqualFiles", "./test/system"), "-benchtime", "3x"),
				gotest(".", "./internal/service/filestore"), gotest("BenchmarkPropfind", "./internal/service/filestore/filestoredav"),
			},
			bars: []bar{
				{"upload of 1 GiB by HTTP, times SHA-256 on one core", atLeast, 0.5, "x", "BenchmarkTransfer", []string{"upload-x-sha256"}},
				{"download of 1 GiB by HTTP, times SHA-256 on one core", atLeast, 0.5, "x", "BenchmarkTransfer", []string{"download-x-sha256"}},
				{"resident memory of the server up to the end of the upload", atMost, 150, "MB", "BenchmarkTransfer", []string{"upload-rss-MB"}},
				{"resident memory of the server up to the end of the download", atMost, 150, "MB", "BenchmarkTransfer", []string{"download-rss-MB"}},
				{"CPU of an upload of 1 GiB, client and server", reported, 0, "s", "BenchmarkTransfer", []string{"upload-cpu-s/GiB"}},
				{"durable writes of 4 KiB, 64 clients, SQLite", atLeast, 2000, "/s", "BenchmarkSmallFiles", []string{"writes/s"}},
				{"reads of 4 KiB, 64 clients", atLeast, 10000, "/s", "BenchmarkSmallFiles", []string{"reads/s"}},
				{"PUT of 4 KiB by HTTP, 64 clients, times versitygw", atLeast, 1.5, "x", "BenchmarkSmallFilesByHTTP", []string{"put-x-versitygw"}},
				{"PUT of 4 KiB by HTTP, 64 clients, times a plain server that writes and syncs", atLeast, 0.6, "x", "BenchmarkSmallFilesByHTTP", []string{"put-x-plain"}},
				{"GET of 4 KiB by HTTP, 64 clients, times versitygw", atLeast, 1.5, "x", "BenchmarkSmallFilesByHTTP", []string{"get-x-versitygw"}},
				{"PUT of 4 KiB by WebDAV, 64 clients, times our own route", atLeast, 0.9, "x", "BenchmarkSmallFilesByHTTP", []string{"webdav-put-x-own"}},
				{"GET of 4 KiB by WebDAV, 64 clients, times our own route", atLeast, 0.9, "x", "BenchmarkSmallFilesByHTTP", []string{"webdav-get-x-own"}},
				{"bare group-committed inserts in the same run", reported, 0, "/s", "BenchmarkSmallFiles", []string{"bare-inserts/s"}},
				{"listing 1,000 files among 1,000,000, times among 1,000", atMost, 1.5, "x", "BenchmarkScale", []string{"list-ratio"}},
				{"finding a CID among 1,000,000, times among 1,000", atMost, 1.5, "x", "BenchmarkScale", []string{"cid-ratio"}},
				{"`fs sync` of 10,000 unchanged files: content sent", atMost, 0, "B", "BenchmarkSyncOfEqualFiles", []string{"content-B/sync"}},
				{"`fs sync` of 10,000 unchanged files: requests, 51 pages of its one listing among them", atMost, 53, "", "BenchmarkSyncOfEqualFiles", []string{"pages/sync", "others/sync"}},
				{"`fs sync` of 10,000 unchanged files: time", reported, 0, "s", "BenchmarkSyncOfEqualFiles", []string{"s/sync"}},
				{"PROPFIND of 10,000 entries: statements of the database", atMost, 1, "", "BenchmarkPropfind", []string{"statements/op"}},
				{"PROPFIND of 10,000 entries: time", reported, 0, "ms", "BenchmarkPropfind", []string{"ms/propfind"}},
				{"PROPFIND of 10,000 entries: time, times its query alone", reported, 0, "x", "BenchmarkPropfind", []string{"x-query"}},
			},
		},
		{
			name: "ussd", about: "telephone sessions, beside a bare handler with one durable write", limit: 4 * time.Minute,
			commands: [][]string{gotest("Session|LiveSessions|BesideBare", "./internal/service/ussd/ussdhttp")},
			bars: []bar{
				{"dial, 64 lines, SQLite: server CPU", atMost, 0.12, "ms", "BenchmarkSession/sqlite/dial/64", []string{"server-cpu-ms/req"}},
				{"dial then 1, 64 lines, SQLite: server CPU", atMost, 0.12, "ms", "BenchmarkSession/sqlite/dial-then-1/64", []string{"server-cpu-ms/req"}},
				{"the bare handler beside it", reported, 0, "ms", "BenchmarkSession/sqlite/bare/64", []string{"server-cpu-ms/req"}},
				{"dial, 64 lines, SQLite: server CPU, times bare", atMost, 1.8, "x", "BenchmarkBesideBare/sqlite", []string{"dial-x-bare"}},
				{"dial then 1, 64 lines, SQLite: server CPU, times bare", atMost, 1.8, "x", "BenchmarkBesideBare/sqlite", []string{"hop-x-bare"}},
				{"dial, 64 lines, SQLite: p50", reported, 0, "ms", "BenchmarkSession/sqlite/dial/64", []string{"p50-ms"}},
				{"dial, 64 lines, SQLite: p99", atMost, 50, "ms", "BenchmarkSession/sqlite/dial/64", []string{"p99-ms"}},
				{"dial, one line, SQLite: p99", reported, 0, "ms", "BenchmarkSession/sqlite/dial/1", []string{"p99-ms"}},
				{"dial, 64 lines, PostgreSQL: program and database CPU", atMost, 0.3, "ms", "BenchmarkSession/postgres/dial/64", []string{"server-cpu-ms/req", "database-cpu-ms/req"}},
				{"dial then 1, 64 lines, PostgreSQL: program and database CPU", atMost, 0.3, "ms", "BenchmarkSession/postgres/dial-then-1/64", []string{"server-cpu-ms/req", "database-cpu-ms/req"}},
				{"the bare handler beside it, PostgreSQL: program and database CPU", reported, 0, "ms", "BenchmarkSession/postgres/bare/64", []string{"server-cpu-ms/req", "database-cpu-ms/req"}},
				{"dial, 64 lines, PostgreSQL: program and database CPU, times bare", reported, 0, "x", "BenchmarkBesideBare/postgres", []string{"dial-x-bare"}},
				{"dial then 1, 64 lines, PostgreSQL: program and database CPU, times bare", reported, 0, "x", "BenchmarkBesideBare/postgres", []string{"hop-x-bare"}},
				{"100,000 live sessions in the process", atMost, 52, "MB", "BenchmarkLiveSessions", []string{"MB-for-100k"}},
			},
		},
		{
			name: "query", about: "the query gateway, beside a generated grpc-gateway", limit: 6 * time.Minute,
			commands: [][]string{{"scripts/bench-query"}, gotest(".", "./internal/service/query")},
			bars: []bar{
				{"entity: requests, times generated", atLeast, 1.5, "x", "entity/ours", []string{"rate-ratio"}},
				{"entity: CPU per request, times generated", atMost, 0.6, "x", "entity/ours", []string{"cpu-ratio"}},
				{"list of 100 claims: requests, times generated", atLeast, 5, "x", "list of 100 claims/ours", []string{"rate-ratio"}},
				{"list of 100 claims: CPU per request, times generated", atMost, 0.25, "x", "list of 100 claims/ours", []string{"cpu-ratio"}},
				{"entity from the cache: requests, times generated", atLeast, 5, "x", "entity/ours-cached", []string{"rate-ratio"}},
				{"list from the cache: requests, times generated", atLeast, 5, "x", "list of 100 claims/ours-cached", []string{"rate-ratio"}},
				{"allocations of a reply, uncached", reported, 0, "", "BenchmarkAnswer/uncached", []string{"allocs/op"}},
				{"allocations of a reply from the cache", reported, 0, "", "BenchmarkAnswer/pinned", []string{"allocs/op"}},
			},
		},
		{
			name: "oracle", about: "chat, beside a bare handler with one durable write", limit: 4 * time.Minute,
			commands: [][]string{gotest(".", "./internal/service/oracle/oraclehttp"), gotest(".", "./internal/service/oracle/oraclesql")},
			bars: []bar{
				{"POST to first frame, 64 at once, SQLite: p50, times bare", atMost, 1.7, "x", "BenchmarkFirstFrame", []string{"p50-ratio"}},
				{"POST to first frame, 64 at once, SQLite: p99, times bare", atMost, 1.7, "x", "BenchmarkFirstFrame", []string{"p99-ratio"}},
				{"CPU of a turn in conversations of 200, times those of 10", atMost, 2, "x", "BenchmarkLongConversation", []string{"ratio"}},
				{"token frames through one node", reported, 0, "/s", "BenchmarkTokens", []string{"frames/s"}},
				{"memory of an open stream", reported, 0, "KiB", "BenchmarkOpenStreams", []string{"KiB/stream"}},
				{"memory of a bare net/http stream", reported, 0, "KiB", "BenchmarkOpenStreams", []string{"bare-KiB/stream"}},
			},
		},
		{
			name: "faces", about: "the oracle by other programs' wires, beside our own route", limit: 4 * time.Minute,
			commands: [][]string{gotest(".", "./internal/service/oracle/face")},
			bars: []bar{
				{"first token by /v1/chat/completions, times our own route", atMost, 1.2, "x", "BenchmarkFirstToken", []string{"chat-ratio"}},
				{"first token by /v1/responses, times our own route", atMost, 1.2, "x", "BenchmarkFirstToken", []string{"responses-ratio"}},
				{"first token by AG-UI, times our own route", atMost, 1.2, "x", "BenchmarkFirstToken", []string{"ag-ui-ratio"}},
				{"first token by the AI SDK's stream, times our own route", atMost, 1.2, "x", "BenchmarkFirstToken", []string{"ai-sdk-ratio"}},
				{"first token by our own route", reported, 0, "µs", "BenchmarkFirstToken", []string{"own-µs"}},
				{"live memory of an open stream by /v1/chat/completions", atMost, 38, "KiB", "BenchmarkFaceStreams", []string{"chat-KiB/stream"}},
				{"the pages that hold it, by /v1/chat/completions", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"chat-KiB/stream-kept"}},
				{"live memory of an open stream by /v1/responses", atMost, 38, "KiB", "BenchmarkFaceStreams", []string{"responses-KiB/stream"}},
				{"the pages that hold it, by /v1/responses", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"responses-KiB/stream-kept"}},
				{"live memory of an open stream by AG-UI", atMost, 38, "KiB", "BenchmarkFaceStreams", []string{"ag-ui-KiB/stream"}},
				{"the pages that hold it, by AG-UI", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"ag-ui-KiB/stream-kept"}},
				{"live memory of an open stream by the AI SDK's stream", atMost, 38, "KiB", "BenchmarkFaceStreams", []string{"ai-sdk-KiB/stream"}},
				{"the pages that hold it, by the AI SDK's stream", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"ai-sdk-KiB/stream-kept"}},
				{"live memory of a turn that nobody reads, by /v1/chat/completions", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"chat-KiB/bare-turn"}},
				{"live memory of an open stream and its turn by /v1/chat/completions", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"chat-KiB/turn"}},
				{"live memory of an open stream by our own route", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"own-KiB/stream"}},
				{"live memory of an open stream and its turn by our own route", reported, 0, "KiB", "BenchmarkFaceStreams", []string{"own-KiB/turn"}},
			},
		},
		{
			name: "sockets", about: "socket.io, beside a bare WebSocket server", limit: 3 * time.Minute,
			commands: [][]string{gotest("Broadcast|Ack|Idle", "./internal/protocol/socketio"), gotest(".", "./internal/service/oracle/oraclesocket")},
			bars: []bar{
				{"broadcast to 1,000, deliveries per CPU second, times bare", atLeast, 0.75, "x", "BenchmarkBroadcast", []string{"ratio"}},
				{"acknowledged round trips per CPU second, times bare", atLeast, 0.7, "x", "BenchmarkAck", []string{"ratio"}},
				{"memory of an idle page of 5,000, gateway and all", atMost, 12, "KiB", "BenchmarkIdle", []string{"KiB/socket"}},
			},
		},
		{
			name: "calls", about: "live calls, beside a bare echo peer", limit: 3 * time.Minute,
			commands: [][]string{gotest(".", "./internal/service/oracle/call"), gotest("Loss", "./internal/service/oracle/call/callrtc")},
			bars: []bar{
				{"setting a call up, times a bare peer connection", atMost, 1.5, "x", "BenchmarkSetUp", []string{"ratio"}},
				{"setting a call up", reported, 0, "ms", "BenchmarkSetUp", []string{"ms/call"}},
				{"from the end of speech to the first sound, services that answer at once", atMost, 350, "ms", "BenchmarkAnswer", []string{"ms/first-sound"}},
				{"of that, until the sentence was over for certain and the model asked", reported, 0, "ms", "BenchmarkAnswer", []string{"ms/to-model"}},
				{"of that, until the voice was asked for the first clause", reported, 0, "ms", "BenchmarkAnswer", []string{"ms/to-voice"}},
				{"of that, until the first sound was heard", reported, 0, "ms", "BenchmarkAnswer", []string{"ms/to-ear"}},
				{"one way through the server, added to a bare echo", reported, 0, "µs", "BenchmarkDelay", []string{"µs/added-one-way"}},
				{"CPU of a call with an open microphone, both ends, times a bare echo", atMost, 1.5, "x", "BenchmarkCPU", []string{"ratio"}},
				{"100 calls with open microphones, ten of them spoken to: lateness of a frame, p99", atMost, 20, "ms", "BenchmarkHundredCalls", []string{"ms/late-p99"}},
				{"timers that do nothing, beside them: lateness, p99", reported, 0, "ms", "BenchmarkHundredCalls", []string{"ms/bare-timer-p99"}},
				{"100 calls with open microphones: cores in use, both ends", reported, 0, "", "BenchmarkHundredCalls", []string{"cores"}},
				{"100 calls with open microphones: heap and stacks of a call, both ends", reported, 0, "KB", "BenchmarkHundredCalls", []string{"KB/call"}},
				{"100 bare echoes: heap and stacks of one, both ends", reported, 0, "KB", "BenchmarkHundredCalls", []string{"KB/bare"}},
				{"every tenth packet of the caller's lost: the voice against the original", reported, 0, "dB", "BenchmarkLoss", []string{"dB/10%-lost"}},
			},
		},
		{
			name: "plugins", about: "what the credits gate adds", limit: 2 * time.Minute,
			commands: [][]string{gotest(".", "./internal/plugins/credits")},
			bars: []bar{
				{"a request through the credits gate, times without", atMost, 1.1, "x", "BenchmarkGate", []string{"gated/bare"}},
			},
		},
		{
			name: "client", about: "the React client in a real Chromium, 200 finished messages and one that grows", limit: 3 * time.Minute,
			commands: [][]string{{"npm", "--prefix", "web", "run", "--silent", "build", "-w", "client", "-w", "ui"}, {"node", "test/browser/bench.mjs"}},
			bars: []bar{
				{"main entry, gzip", atMost, 25000, "bytes", "BenchmarkClient/size/main", []string{"bytes"}},
				{"useChat alone, gzip", atMost, 20000, "bytes", "BenchmarkClient/size/chat", []string{"bytes"}},
				{"live-agent entry, gzip", atMost, 10240, "bytes", "BenchmarkClient/size/live-agent", []string{"bytes"}},
				{"batched, 2,000 tokens at 200 a second: renders of the growing message", atMost, 95, "", "BenchmarkClient/batched/200-a-second", []string{"renders"}},
				{"batched, 2,000 tokens at 200 a second: renders of finished messages", atMost, 0, "", "BenchmarkClient/batched/200-a-second", []string{"finished-renders"}},
				{"batched, 2,000 tokens at 200 a second: longest frame", reported, 0, "ms", "BenchmarkClient/batched/200-a-second", []string{"longest-frame-ms"}},
				{"immediate, 2,000 tokens at 200 a second: renders of the growing message", atMost, 610, "", "BenchmarkClient/immediate/200-a-second", []string{"renders"}},
				{"a burst of 2,000 tokens", atMost, 100, "ms", "BenchmarkClient/batched/burst", []string{"ms"}},
				{"a burst of 2,000 tokens: longest frame", atMost, 50, "ms", "BenchmarkClient/batched/burst", []string{"longest-frame-ms"}},
				{"requests of a turn", atMost, 1, "", "BenchmarkClient/batched/200-a-second", []string{"requests/turn"}},
				{"an answer of 600 words among 10,000 messages: longest task, 0 where none took 50 ms", atMost, 50, "ms", "BenchmarkClient/thread/10000", []string{"longest-task-ms"}},
				{"the same among 30 messages", reported, 0, "ms", "BenchmarkClient/thread/30", []string{"longest-task-ms"}},
				{"messages of 10,000 that are in the page", atMost, 60, "", "BenchmarkClient/thread/10000", []string{"mounted"}},
			},
		},
		{
			name: "knowledge", about: "what the search index costs, sealed, up to 1,000,000 passages", limit: 25 * time.Minute,
			commands: [][]string{
				{"go", "run", "./test/bench/knowledge", "-passages", "10000,100000,1000000"},
			},
			bars: []bar{
				{"a query among 100,000 passages: CPU", atMost, 10, "ms", "BenchmarkAsk/passages=100000", []string{"cpu-ms/op"}},
				{"a query among 1,000,000 passages: CPU", atMost, 60, "ms", "BenchmarkAsk/passages=1000000", []string{"cpu-ms/op"}},
				{"a query among 1,000,000, times among 10,000: CPU", atMost, 3, "x", "BenchmarkAskGrowth", []string{"x-cpu"}},
				{"memory with 100,000 passages", atMost, 200, "MB", "BenchmarkAsk/passages=100000", []string{"rss-MB"}},
				{"memory with 1,000,000 passages", atMost, 500, "MB", "BenchmarkAsk/passages=1000000", []string{"rss-MB"}},
				{"index of 1,000,000 passages, times the text", atMost, 1.5, "x", "BenchmarkIngest/passages=1000000", []string{"index-x-text"}},
				{"text indexed, joined and sealed in a CPU second", atLeast, 5, "MB", "BenchmarkIngest/passages=100000", []string{"MB/cpu-s"}},
				{"the same with 1,000,000 passages", atLeast, 5, "MB", "BenchmarkIngest/passages=1000000", []string{"MB/cpu-s"}},
				{"text indexed, joined and sealed, times what gzip compresses in the same CPU time", reported, 0, "x", "BenchmarkIngest/passages=100000", []string{"x-gzip"}},
				{"with 1,000,000 passages, times what gzip compresses in the same CPU time", reported, 0, "x", "BenchmarkIngest/passages=1000000", []string{"x-gzip"}},
			},
		},
		{
			name: "platform", about: "database, HTTP chain, limiter, log", limit: 3 * time.Minute,
			commands: [][]string{gotest(".", "./internal/platform/sqldb"), gotest(".", "./internal/platform/httpserver")},
			bars: []bar{
				{"durable writes of 64 writers on SQLite", reported, 0, "/s", "BenchmarkWrite/writers=64/sqlite", []string{"writes/s"}},
				{"writes that share one sync", reported, 0, "", "BenchmarkWriteAgainstSync", []string{"writes/sync"}},
				{"the whole HTTP chain: CPU added to a request", reported, 0, "ns", "BenchmarkChain/whole", []string{"added-cpu-ns/op"}},
				{"over TCP, times a bare server's CPU", reported, 0, "x", "BenchmarkOverTCP/whole", []string{"times-bare-cpu"}},
			},
		},
		{
			name: "fleet", about: "a namespace that many share on PostgreSQL; what a starting node reads of a million people", limit: 5 * time.Minute,
			commands: [][]string{
				gotest("BenchmarkOneNamespace", "./internal/service/filestore/filestoresql"),
				gotest("BenchmarkStart", "./internal/identity/identitysql"), gotest("BenchmarkStart", "./internal/service/ussd/ussdsql"),
			},
			bars: []bar{
				{"files stored in one namespace by 16 writers of one node, times one commit for each", atLeast, 5, "x", "BenchmarkOneNamespace/nodes=1", []string{"ratio"}},
				{"the same by 48 writers of three nodes", atLeast, 5, "x", "BenchmarkOneNamespace/nodes=3", []string{"ratio"}},
				{"memory for 1,000,000 revocations", atMost, 57, "MB", "BenchmarkStartWithAMillionRevocations", []string{"MB"}},
				{"memory for 1,000,000 telephones", atMost, 3, "MB", "BenchmarkStartWithAMillionTelephones", []string{"MB"}},
				{"CPU of a start with 1,000,000 revocations", atMost, 1, "s", "BenchmarkStartWithAMillionRevocations", []string{"cpu-s"}},
				{"CPU of a start with 1,000,000 telephones", atMost, 1, "s", "BenchmarkStartWithAMillionTelephones", []string{"cpu-s"}},
			},
		},
	}
}
