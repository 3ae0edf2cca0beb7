package config

import "time"

// Settings is everything that an operator can set, one struct per part. The
// names are a contract: they never change meaning.
type Settings struct {
	Server   Server
	Storage  Storage
	Identity Identity
	Access   Access
	USSD     USSD
	SMS      SMS
	Files    Files
	Oracle   Oracle
	Query    Query
	Plugins  Plugins
	Calls    Calls
	Webhooks Webhooks

	Knowledge Knowledge
	Retention Retention
	Backups   Backups
}

// Backups are where archives of the whole deployment go, and how often.
type Backups struct {
	Place      URL    `env:"BACKUP_URL" doc:"file:///folder or s3://bucket/prefix?endpoint=&region=&path_style= to which the server makes backups, encrypted for BACKUP_RECIPIENTS; the folder must be there. Empty: the server makes none. Best on another machine."`
	Recipients string `env:"BACKUP_RECIPIENTS" doc:"age recipients (age1…) for whom backups are encrypted, separated by commas; castalia backups key makes one. The server never has what opens them."`
	Every      Keep   `env:"BACKUP_EVERY" doc:"Time between two backups, such as 24h, an hour at least; off makes none but those that are asked for. When it or BACKUP_KEEP is given, off too, both rule over the document backups, which operators can change while the server runs. Where there is a BACKUP_URL and this is not given, one is made every day, unless that document says otherwise."`
	Keep       string `env:"BACKUP_KEEP" doc:"How many of the newest backups stay, from 1 to 1000; off keeps all. Where there is a BACKUP_URL and this is not given, 14 stay, unless the document backups says otherwise."`
}

// Retention is how long records are kept that grow without end, by default for ever.
type Retention struct {
	Transcripts Keep `env:"RETENTION_TRANSCRIPTS" doc:"How long conversations are kept after they were last used, such as 365d; off keeps them for ever. Any RETENTION_ duration that is given, off too, rules over the document retention, which operators can change while the server runs."`
	Archive     Keep `env:"RETENTION_ARCHIVE" doc:"How long conversations stay in the database after they were last used, such as 90d; then they move, sealed and compressed, to the object store, and come back when somebody opens them. off leaves them in the database."`
	Runs        Keep `env:"RETENTION_RUNS" doc:"How long is kept how an answer came about (its run); the transcript stays. off keeps it for ever."`
	Calls       Keep `env:"RETENTION_CALLS" doc:"How long records of ended calls are kept; recordings are files and stay. off keeps them for ever."`
	Events      Keep `env:"RETENTION_EVENTS" doc:"How long changes of files are kept, which are their feed and audit. Whoever reads the feed from an older place is told so. off keeps them for ever."`
	Audit       Keep `env:"RETENTION_AUDIT" doc:"How long is kept what operators did; off keeps it for ever."`
	Shares      Keep `env:"RETENTION_SHARES" doc:"How long links to files are kept after they expired; off keeps them for ever."`
	Forms       Keep `env:"RETENTION_FORMS" doc:"How long forms that callers sent are kept; off keeps them for ever."`

	Exports          URL    `env:"RETENTION_EXPORT_URL" doc:"file:///folder or s3://bucket/prefix?endpoint=&region=&path_style= to which records are exported before they are erased, encrypted; nothing is erased whose export was not stored. Empty erases without an export."`
	ExportRecipients string `env:"RETENTION_EXPORT_RECIPIENTS" doc:"age recipients (age1…) for whom those exports are encrypted, separated by commas."`
}

// Server is the listener and what surrounds every request.
type Server struct {
	Port              int           `env:"PORT" default:"3000" min:"0" max:"65535" doc:"Port of the one listener; 0 picks a free one."`
	Host              string        `env:"HOST" doc:"Address to listen on; empty means all."`
	NodeURL           URL           `env:"NODE_URL" doc:"Address under which other nodes of the fleet reach this one."`
	Environment       string        `env:"CASTALIA_ENV" default:"development" doc:"Name of the environment, shown by / and /health. In any but development and test no address makes an operator."`
	TrustProxy        bool          `env:"TRUST_PROXY_ENABLED" default:"false" doc:"Whether X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host of the proxies in TRUSTED_PROXIES are believed."`
	TrustedProxies    Networks      `env:"TRUSTED_PROXIES" default:"127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,fc00::/7,fe80::/10" doc:"Networks of your proxies, for TRUST_PROXY_ENABLED. The client is the nearest hop that is in none of them; what others say of their clients is ignored."`
	PublicURL         URL           `env:"PUBLIC_URL" doc:"Address under which clients reach this deployment, such as https://castalia.example, for links that it makes; empty takes it from X-Forwarded-Host of a trusted proxy, and makes links relative where nobody says."`
	HTTPSDomains      []string      `env:"HTTPS_DOMAINS" doc:"Names under which this deployment is reached, such as oracle.example.org. Certificates for them are got and renewed by ACME, whose terms you accept by setting it, and HTTPS is served at HTTPS_PORT; PORT is then 80 unless it is set, and leads there. PUBLIC_URL is the first of them unless it is set."`
	HTTPSPort         int           `env:"HTTPS_PORT" default:"443" min:"0" max:"65535" doc:"Port of HTTPS, where HTTPS_DOMAINS is set. The authority looks at port 443 or 80 of the names: lead one of them here."`
	ACMEEmail         string        `env:"ACME_EMAIL" doc:"Address that the certificate authority may warn."`
	ACMEDirectory     URL           `env:"ACME_DIRECTORY" doc:"Directory of the certificate authority; empty is Let's Encrypt."`
	ACMECAFile        string        `env:"ACME_CA_FILE" doc:"PEM file of the certificate that vouches for ACME_DIRECTORY itself, where that is not one that the system knows."`
	RateLimit         int           `env:"RATE_LIMIT_PER_MINUTE" default:"100" min:"0" doc:"Requests a minute and client address on /api/ussd, / and /health; 0 switches the limit off."`
	PrincipalLimit    int           `env:"PRINCIPAL_RATE_LIMIT_PER_MINUTE" default:"1200" min:"0" doc:"Requests a minute and principal on the other services; 0 switches the limit off."`
	ContentLimit      int           `env:"PUBLIC_FILES_RATE_LIMIT_PER_MINUTE" default:"3000" min:"0" doc:"Requests a minute and client address for public files; 0 switches the limit off."`
	PageLimit         int           `env:"PAGES_RATE_LIMIT_PER_MINUTE" default:"3000" min:"0" doc:"Requests a minute and client address for pages that need no credential: the console, pages of share links, the documentation; 0 switches the limit off."`
	RevocationLimit   int           `env:"REVOCATION_RATE_LIMIT_PER_MINUTE" default:"30" min:"0" doc:"Revocations a minute and client address that are taken at /api/revocations; 0 switches the limit off."`
	GuessLimit        int           `env:"WRONG_SECRETS_PER_MINUTE" default:"60" min:"0" doc:"Wrong operator's tokens, wrong app keys, and wrong keys of the query gate and of plugins, a minute and client address before they are answered with 429; 0 switches the limit off. Tokens are not secrets of this kind: AUTH_VERIFY_BUDGET is theirs."`
	VerifyBudget      time.Duration `env:"AUTH_VERIFY_BUDGET" default:"6s" doc:"Time a minute that a node verifies tokens of one client address (an IPv6 /64) before its unknown tokens queue behind those of others; off has no queue."`
	VerifyWait        time.Duration `env:"AUTH_VERIFY_WAIT" default:"2s" doc:"How long an unknown token waits in that queue before it is refused with 429."`
	OperatorToken     Secret        `env:"OPERATOR_TOKEN" doc:"Bearer for the operators' routes. Without it they are closed, but for a direct loopback peer when CASTALIA_ENV is development or test."`
	CORSOrigin        []string      `env:"CORS_ORIGIN" default:"*" doc:"Origins that browsers may call the oracle and the files from."`
	LogLevel          string        `env:"LOG_LEVEL" default:"info" allowed:"debug|info|warn|error" doc:"Least severity that is logged."`
	LogFormat         string        `env:"LOG_FORMAT" allowed:"pretty|json" doc:"Form of the log; empty chooses pretty on a terminal and json elsewhere."`
	TraceEndpoint     URL           `env:"OTEL_EXPORTER_OTLP_ENDPOINT" doc:"OTLP/HTTP collector for traces; empty switches tracing off."`
	DrainDelay        time.Duration `env:"DRAIN_DELAY" default:"0s" doc:"How long a stopping node stays reachable after it says that it is not ready, so that proxies notice."`
	DrainLimit        time.Duration `env:"DRAIN_LIMIT" default:"20s" doc:"How long a stopping node waits for requests under way."`
	OpenConnections   int           `env:"MAX_CONNECTIONS" default:"20000" min:"16" doc:"Connections open at once; the idlest are closed beyond it."`
	OpenRequests      int           `env:"MAX_REQUESTS_UNDER_WAY" default:"1000" min:"0" doc:"Requests of one principal that a node works on or answers at a time, open streams too, and of one client address for public files and pages; those beyond are answered with 429. At most a quarter of MAX_CONNECTIONS; 0 switches the limit off."`
	ClockOffset       int           `env:"TEST_CLOCK_OFFSET_SECONDS" default:"0" min:"-86400" max:"86400" doc:"Makes this node's clock wrong by so many seconds, for tests of faults; refused unless CASTALIA_ENV is test."`
	Profiling         bool          `env:"PROFILING_ENABLED" default:"false" doc:"Whether operators may take profiles of the running program at /debug/profile/…."`
	AuthExcludedRoute []string      `env:"AUTH_EXCLUDED_ROUTES" doc:"Oracle routes served without credentials, as 'METHOD /path'."`
}

// Storage is where records, bytes and hints go.
type Storage struct {
	Data     string `env:"CASTALIA_DATA" default:"./castalia-data" doc:"Data folder of the embedded shape."`
	Database URL    `env:"DATABASE_URL" doc:"postgres://… of the fleet; empty means SQLite in the data folder."`
	Blobs    URL    `env:"BLOB_URL" doc:"s3://bucket/prefix?endpoint=&region=&path_style= of the fleet; empty means files in the data folder."`
	NATS     URL    `env:"NATS_URL" doc:"nats://… of the fleet; empty means hints inside the process."`

	DatabasePool int           `env:"DATABASE_POOL" default:"32" doc:"How many connections a node opens to PostgreSQL, half of them for writes; at least 8. All nodes together, and one more while they are replaced, must fit its max_connections."`
	DatabaseWait time.Duration `env:"DATABASE_WAIT" default:"10m" doc:"How long a starting node of a fleet waits for a database that is away, with /health at 503, before it gives up; off gives up at once."`

	Replica           URL           `env:"REPLICA_URL" doc:"file:///folder or s3://bucket/prefix?endpoint=&region=&path_style= to which the embedded shape copies every change within a second, encrypted; empty copies nothing. Best on another machine."`
	ReplicaRecipients string        `env:"REPLICA_RECIPIENTS" doc:"age recipients (age1…) for whom the replica is encrypted, separated by commas."`
	ReplicaPassphrase Secret        `env:"REPLICA_PASSPHRASE" doc:"Passphrase under which the replica is encrypted, at least 12 characters, where there are no recipients."`
	ReplicaRetention  time.Duration `env:"REPLICA_RETENTION" default:"168h" doc:"How far back a replica can be restored, and how long it keeps deleted objects."`
	ReplicaInterval   time.Duration `env:"REPLICA_INTERVAL" default:"500ms" doc:"How long the replica may wait for more changes before it stores them."`

	AccessKey    Secret `env:"AWS_ACCESS_KEY_ID" doc:"Access key of the object store."`
	SecretKey    Secret `env:"AWS_SECRET_ACCESS_KEY" doc:"Secret key of the object store."`
	SessionToken Secret `env:"AWS_SESSION_TOKEN" doc:"Session token of the object store, where it needs one."`
}

// Identity is who this node is and how it checks others.
type Identity struct {
	OracleKey       Key           `env:"ORACLE_KEY" doc:"Seed of the service's Ed25519 key; made in the data folder when embedded."`
	OracleDID       string        `env:"ORACLE_DID" doc:"DID of the service, audience of every token; default is the did:key of ORACLE_KEY."`
	OracleEntityDID string        `env:"ORACLE_ENTITY_DID" doc:"DID of the oracle's entity on the chain, accepted beside ORACLE_DID where tools name it."`
	AuthMaxTTL      int           `env:"UCAN_AUTH_MAX_TTL_SECONDS" default:"900" min:"1" doc:"Longest lifetime of an oracle invocation, in seconds."`
	BareDelegation  bool          `env:"UCAN_ALLOW_BARE_DELEGATION" default:"true" doc:"Whether x-ucan-delegation alone authenticates."`
	RootIssuers     []string      `env:"UCAN_ROOT_ISSUERS" doc:"DIDs whose delegation a caller of UCAN_PROTECTED_MCP_SERVERS needs; without any, whoever signs the call may call."`
	MCPMaxTTL       time.Duration `env:"MCP_TOKEN_MAX_TTL" default:"24h" doc:"Longest lifetime of a token for /mcp."`
	ResolverURL     URL           `env:"DID_RESOLVER_URL" doc:"Resolver of did:ixo and of entity controllers."`
	RevocationTotal int           `env:"REVOCATION_TOTAL_PER_MINUTE" default:"120" min:"0" doc:"New revocations a minute that the deployment takes of all callers together, but for those of its own key; 0 switches the limit off."`
	DIDWebPrivate   bool          `env:"DID_WEB_ALLOW_PRIVATE" default:"false" doc:"Whether did:web may be fetched from private addresses (test networks)."`
}

// Access is who may come in, and how much of the oracle each of them may have.
type Access struct {
	Mode      string      `env:"ACCESS" allowed:"open|invite|closed" doc:"Who may come in: open (everybody who makes a key), invite (members, and whoever has an invitation) or closed (members alone). Empty keeps what was chosen before; a new deployment is then open, and in production does not start."`
	DIDs      []string    `env:"ACCESS_DIDS" doc:"DIDs that are members, beside those that castalia members adds."`
	Messages  CountLimit  `env:"MESSAGES_PER_DAY" default:"auto" doc:"Messages that a user may send to the oracle in a day (UTC); auto is 200 in production with ACCESS=open, else no limit."`
	Cost      DollarLimit `env:"MODEL_COST_PER_DAY" default:"auto" doc:"US dollars that a user's messages may cost in a day (UTC), by MODEL_PRICES; auto is 1 in production with ACCESS=open, else no limit."`
	Questions CountLimit  `env:"TELEPHONE_QUESTIONS_PER_DAY" default:"auto" doc:"Questions that a telephone number may ask the oracle in a day (UTC); auto is 20 in production, else no limit."`
}

// USSD is the telephone gateway.
type USSD struct {
	PINKey       Key           `env:"PIN_ENCRYPTION_KEY" doc:"Key under which PIN hashes are sealed; made in the data folder when embedded."`
	PINKeysOld   KeyList       `env:"PIN_ENCRYPTION_KEYS_OLD" doc:"Earlier PIN keys, still readable after a rotation."`
	SessionTTL   time.Duration `env:"USSD_SESSION_TTL" default:"180s" doc:"Idle time after which a telephone session expires."`
	NewKeyWait   time.Duration `env:"NEW_KEY_WAIT" default:"24h" doc:"How long a request for a new key in the place of a lost one waits before operators may approve it. Whoever still has the old key can refuse it until then."`
	MenuText     string        `env:"USSD_MENU_TEXT" doc:"The telephone's menus themselves, as YAML."`
	Menu         string        `env:"USSD_MENU" doc:"File with the same; it is read again when it changes. Without either operators may store menus, and until then the built-in one serves."`
	ScreenLimit  string        `env:"USSD_SCREEN_LIMIT" default:"160" doc:"Septets of a screen that networks show (120 to 182), with others for dialects and service codes: 160,africastalking=182,*384#=140. In UCS-2 as many characters as fit into the same octets (70 for 160), or as a second number says: 160/60."`
	ResumeWindow time.Duration `env:"USSD_RESUME_WINDOW" default:"off" doc:"How long a caller who dials again is offered to continue."`
	AskLanguage  bool          `env:"USSD_LANGUAGE_FIRST" default:"false" doc:"Ask a telephone that dials for the first time for its language before the first screen, where the menu has a screen for that."`
	Lists        string        `env:"USSD_LISTS" doc:"Folder of CSV files that menus read lists from, such as prices. Each is read again when it changes."`
	Dialects     []string      `env:"USSD_DIALECTS" doc:"Files of dialects, for gateways that Castalia does not know: each has its path, /api/ussd/NAME."`
	Gateways     string        `env:"USSD_GATEWAYS" doc:"File that lists which gateways may call: from which addresses, with which secret or signature. Empty lets everybody call."`
	GatewayCIDRs Networks      `env:"USSD_GATEWAY_CIDRS" doc:"Telecom gateways, exempt from the rate limit."`
}

// SMS is text messages of telephones.
type SMS struct {
	Gateway      string `env:"SMS_GATEWAY" allowed:"africastalking|twilio" doc:"Who sends and receives text messages: africastalking, twilio (or what speaks like it), or nobody when empty."`
	URL          URL    `env:"SMS_URL" doc:"Base address of that gateway; empty is its own."`
	Account      string `env:"SMS_ACCOUNT" doc:"User name at Africa's Talking, or account SID at Twilio."`
	Key          Secret `env:"SMS_KEY" doc:"API key at Africa's Talking, or auth token at Twilio, which also signs what comes in."`
	KeyOld       Secret `env:"SMS_KEY_OLD" doc:"The other auth token at Twilio while it is changed: what either signed counts."`
	From         string `env:"SMS_FROM" doc:"Sender of messages: a number, a short code, a name, or the SID of a messaging service at Twilio."`
	Secret       Secret `env:"SMS_SECRET" doc:"At least 16 characters that Africa's Talking must put behind /api/sms/africastalking?secret= when it hands over a message; without them none is taken."`
	SecretOld    Secret `env:"SMS_SECRET_OLD" doc:"The earlier SMS_SECRET while it is changed: either counts."`
	Answers      bool   `env:"SMS_ANSWERS" default:"true" doc:"Whether callers are told by a message that a promised answer is ready."`
	NumberParts  int    `env:"SMS_NUMBER_PARTS" default:"20" min:"1" doc:"Parts of messages (160 characters each) that one number is sent in a day (UTC)."`
	DayParts     int    `env:"SMS_DAY_PARTS" default:"1000" min:"1" doc:"Parts of messages that all numbers together are sent in a day (UTC)."`
	Price        string `env:"SMS_PRICE" doc:"What a part costs, such as KES 0.80, for the figures of operators where the gateway does not say."`
	AllowPrivate bool   `env:"SMS_ALLOW_PRIVATE" default:"false" doc:"Whether the gateway may be plain HTTP and have a private or loopback address."`
}

// Files is the file store.
type Files struct {
	MasterKey     Key       `env:"FILES_MASTER_KEY" doc:"Key that wraps the namespaces' keys; made in the data folder when embedded."`
	MasterKeysOld KeyList   `env:"FILES_MASTER_KEYS_OLD" doc:"Other master keys that are still read, before and after a rotation."`
	MaxUpload     Size      `env:"FILES_MAX_UPLOAD" default:"5GiB" doc:"Largest file."`
	Quota         SizeLimit `env:"FILES_QUOTA" default:"auto" doc:"Bytes that a namespace may hold, old versions and trash included; auto is 1GiB in production with ACCESS=open, else no limit."`
}

// Oracle is the chat server and its model.
type Oracle struct {
	Name             string        `env:"ORACLE_NAME" default:"Castalia" doc:"Name of the oracle, as users see it."`
	Language         string        `env:"ORACLE_LANGUAGE" default:"en" doc:"Language of text messages to numbers that chose none, and of share and upload pages for browsers that name none: a code that the program speaks, en, ar, fr or sw."`
	Provider         string        `env:"MODEL_PROVIDER" default:"guide" allowed:"guide|openai|anthropic" doc:"Where answers come from; guide is built in and needs no account, and leaves the choice to a document of models that operators store."`
	Model            string        `env:"MODEL" doc:"Model that the provider is asked for."`
	Prices           []string      `env:"MODEL_PRICES" doc:"What models cost in US dollars per million tokens, as MODEL=input/output, such as small=0.15/0.60, and if they differ the price of cached input and that of reasoning behind it (small=0.15/0.60/0.02/0.60); the cost of each run is recorded."`
	Wires            []string      `env:"MODEL_WIRES" doc:"How models are asked at an OpenAI-compatible provider, as MODEL=responses or MODEL=chat; chat is the default, except for models of OpenAI that are known to need the other."`
	Models           string        `env:"MODELS" doc:"Several endpoints and their models, as the text of a models.yaml, in place of MODEL_PROVIDER and its companions."`
	ModelsFile       string        `env:"MODELS_FILE" doc:"The file models.yaml with the same; it is read again when it changes. Without either operators may store one."`
	Instructions     string        `env:"ORACLE_INSTRUCTIONS" doc:"What the oracle is told about itself: who it is, language, tone, what it must not do; Markdown, with front matter."`
	InstructionsFile string        `env:"ORACLE_INSTRUCTIONS_FILE" doc:"File with the same; it is read again when it changes. Without either operators may store them."`
	ConnectTimeout   time.Duration `env:"MODEL_CONNECT_TIMEOUT" default:"30s" doc:"How long a connection to the provider may take."`
	FirstToken       time.Duration `env:"MODEL_FIRST_TOKEN_TIMEOUT" default:"300s" doc:"How long a model may think before its first word; while the provider sends signs of life, at least 10 minutes."`
	IdleTimeout      time.Duration `env:"MODEL_IDLE_TIMEOUT" default:"120s" doc:"How long an answer may pause."`
	TurnTimeout      time.Duration `env:"MODEL_TURN_TIMEOUT" default:"15m" doc:"How long a turn may take, with all its tools."`
	ApprovalTime     time.Duration `env:"APPROVAL_TIMEOUT" default:"24h" doc:"How long a tool call waits for its user's approval; after that it counts as denied (off means a day)."`
	ApproveMCP       bool          `env:"APPROVE_MCP_TOOLS" default:"false" doc:"Whether every tool of an MCP server that is not marked as read only waits for its user's approval."`
	AgentWait        time.Duration `env:"MCP_ANSWER_WAIT" default:"45s" doc:"How long an agent at /mcp waits for the oracle's answer before it is told to come back for it (off means 45 seconds); clients give up after about a minute."`
	FrameRetention   time.Duration `env:"RUN_FRAMES_RETENTION" default:"24h" doc:"How long the frames of ended runs are kept for those who resume (off means a day); the transcript stays."`
	OpenAIBase       URL           `env:"OPENAI_BASE_URL" doc:"Base address of an OpenAI-compatible provider."`
	OpenAIKey        Secret        `env:"OPENAI_API_KEY" doc:"Key of that provider."`
	AnthropicBase    URL           `env:"ANTHROPIC_BASE_URL" doc:"Base address of an Anthropic-compatible provider."`
	AnthropicKey     Secret        `env:"ANTHROPIC_API_KEY" doc:"Key of that provider."`
	MatrixHomeserver URL           `env:"MATRIX_HOMESERVER" doc:"Homeserver for attachments when the user names none."`
	MatrixToken      Secret        `env:"MATRIX_TOKEN" doc:"Access token of an account at MATRIX_HOMESERVER, with which attachments of messages without a token of their user's are read, by their mxc address."`
	MatrixPrivate    bool          `env:"MATRIX_ALLOW_PRIVATE" default:"false" doc:"Whether homeservers may have private addresses (test networks)."`
}

// Query is the protocol query gateway.
type Query struct {
	Upstreams  []string `env:"QUERY_UPSTREAMS" doc:"gRPC nodes as host:port with options (?tls=1&ca=FILE&chain=NAME&dialect=plain&descriptors=FILE&post=METHOD); empty means the embedded node."`
	Prefixes   []string `env:"QUERY_PREFIXES" default:"ixo" doc:"The protocol's own path prefix; old=new renames it."`
	Auth       Secret   `env:"QUERY_AUTH" doc:"Gate of the query routes; empty is open, else none, deny, ucan, key:… or bearer:…, per route group: *=ucan; /cosmos/tx=deny."`
	CORSOrigin []string `env:"QUERY_CORS_ORIGIN" doc:"Origins that browsers may query from; empty means none."`
}

// Plugins switches and feeds the plugins that are shipped.
type Plugins struct {
	Features Features `env:"FEATURES" doc:"Which plugins are on."`
}

// Calls is the live agent.
type Calls struct {
	TurnURLs   []string `env:"TURN_URLS" doc:"TURN servers offered to callers, as turn:host:port?transport=udp."`
	TurnSecret Secret   `env:"TURN_SECRET" doc:"Shared secret of those servers and of the embedded one, which makes one up when it is empty."`
	TurnListen string   `env:"TURN_LISTEN" doc:"UDP and TCP address of the embedded TURN server, such as :3478; empty switches it off."`

	PublicIPs []string      `env:"CALLS_PUBLIC_IPS" doc:"Addresses under which callers reach this node's media, where a NAT is in front; empty means the machine's own."`
	UDPPort   int           `env:"CALLS_UDP_PORT" default:"0" min:"0" max:"65535" doc:"The one UDP port of all calls; 0 gives each call its own."`
	UDPRange  string        `env:"CALLS_UDP_RANGE" doc:"Range of the calls' own UDP ports, such as 50000-50999."`
	MaxLength time.Duration `env:"CALLS_MAX_LENGTH" default:"1h" doc:"Longest call."`
	PerUser   int           `env:"CALLS_PER_USER" default:"2" min:"1" doc:"Calls of one user at a time, in the whole fleet."`
	PerNode   int           `env:"CALLS_PER_NODE" default:"100" min:"1" doc:"Calls on one node at a time."`

	HearURL    URL    `env:"SPEECH_TO_TEXT_URL" doc:"Base address of an OpenAI-compatible service that understands speech (…/v1); empty means that callers type."`
	HearModel  string `env:"SPEECH_TO_TEXT_MODEL" default:"whisper-1" doc:"Model that it is asked for."`
	VoiceURL   URL    `env:"TEXT_TO_SPEECH_URL" doc:"Base address of an OpenAI-compatible service that speaks (…/v1); empty means a tone and captions."`
	VoiceModel string `env:"TEXT_TO_SPEECH_MODEL" default:"tts-1" doc:"Model that it is asked for."`
	Voice      string `env:"TEXT_TO_SPEECH_VOICE" default:"alloy" doc:"Voice when the caller chooses none."`
	SpeechKey  Secret `env:"SPEECH_API_KEY" doc:"Key of the speech services."`
}

// Webhooks is what is told to owners' own programs.
type Webhooks struct {
	AllowPrivate bool `env:"WEBHOOKS_ALLOW_PRIVATE" default:"false" doc:"Whether webhooks may be plain HTTP and lead to private and loopback addresses: for development, and where every user is trusted with this network."`
}

// Knowledge is the community's documents.
type Knowledge struct {
	EmbeddingsURL   URL    `env:"EMBEDDINGS_URL" doc:"Base address of an OpenAI-compatible service that makes embeddings (…/v1), so that documents are found by what they mean too. Every passage of every collection and every question is sent there. Empty means that words alone count."`
	EmbeddingsModel string `env:"EMBEDDINGS_MODEL" default:"text-embedding-3-small" doc:"Model that it is asked for. Another one has all documents embedded anew, in the background."`
	EmbeddingsKey   Secret `env:"EMBEDDINGS_KEY" doc:"Key of that service."`
}
