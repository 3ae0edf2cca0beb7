package faults

// Told is what became of something, as far as the client who asked knows.
type Told uint8

// What a client can be told. Unknown is the honest word for a line that went
// dead, or for an error of the server: it may have happened or not.
const (
	Unknown Told = iota
	Acknowledged
	Refused
)

func (t Told) String() string { return [...]string{"unknown", "acknowledged", "refused"}[t] }

// Evidence is all that the checker looks at: what clients were told while
// faults happened, in their order, and what was found when they were over.
type Evidence struct {
	Writes   []Write
	Reads    []Read
	Files    []File
	Accounts []Account
	Attempts []Attempt
	Turns    []Turn
	Runs     []Run
	Talks    []Talk
	Calls    []Call
	Grants   []Grant
	Ledger   []Balance
	Notes    []Note
	Things   []Thing
	Loans    []Loan
	Kept     map[string][]string // owner to remembered texts
	// Problems are what could not be found out, such as an answer that did not
	// come after everything was healed. Each is a violation.
	Problems []string
	// Doctor is what `doctor --deep` complained about; empty when content.
	Doctor string
}

// Write is one attempt to store a version of a file. CIDs name contents, and
// every write of a history has a content of its own.
type Write struct {
	Path, CID string
	// If is the version that had to be the newest one; empty asks for none.
	If   string
	Told Told
}

// Read is what somebody was given who downloaded a file while faults happened:
// the version that the answer named, and what its bytes really were.
type Read struct{ Path, CID, Content string }

// File is a file that was found, its versions from the newest to the oldest.
type File struct {
	Path     string
	Versions []Version
}

// Version is a version that a list shows, and what came when it was downloaded.
type Version struct{ CID, Content string }

// Account is a telephone account. Told is about its creation; the rest is what
// was found.
type Account struct {
	ID       string
	Told     Told
	There    bool
	Failures int
	Locked   bool
}

// Attempt is one PIN that somebody typed. Sent is how often it was sent: a server
// that dies between the counting and the answer counts the repetition again.
type Attempt struct {
	Account string
	Right   bool
	Told    Told
	Sent    int
	// Locked: the answer was that the account is locked.
	Locked bool
}

// Frame is one event of a stream, as it came over the wire.
type Frame struct{ ID, Event, Data string }

// Turn is one message to the oracle. Run is empty when nobody said which one.
type Turn struct {
	Session, Message, Run string
	Told                  Told
	Frames                []Frame // as its reader saw them, over all lines and nodes
}

// Run is a run that was found, with its whole log.
type Run struct {
	ID, Session, Status string
	Frames              []Frame
}

// Talk is the transcript of a session.
type Talk struct {
	Session  string
	Messages []Message
}

// Message is one entry of a transcript.
type Message struct{ Type, Content string }

// Call is an event that reached a browser tool. Number is what the model wanted
// done, and is different for every message.
type Call struct{ Session, ID, Page, Number string }

// Grant is credits that an operator gave.
type Grant struct {
	DID    string
	Amount int64
	Told   Told
}

// Balance is an account of the ledger.
type Balance struct {
	DID                                   string
	Granted, Available, Held, Spent, Owed int64
	// What the entries of the account add up to, and the holds that end.
	EntriesGranted, EntriesSpent, Holds int64
	// How many turns were paid, and how many runs are marked as paid.
	Uses, Settled int
}

// Note is a text that somebody asked the oracle to remember.
type Note struct {
	Owner, Text string
	Told        Told
}

// Thing is a file that its owner put in order. It was stored at Path, which was
// acknowledged, and then changed; only the last change can be Unknown. Found is
// where its content was found.
type Thing struct {
	Owner, CID, Path string
	Changes          []Change
	Found            []Place
}

// Change moves a file to a path, or to the trash, which is the empty one. Status is
// that of a refusal.
type Change struct {
	To     string
	Told   Told
	Status int
}

// Place is where a file is, and what came when it was downloaded there.
type Place struct{ Path, Content string }

// Loan is a permission to read that somebody gave, and took back.
type Loan struct {
	Name string
	// Most is how many readings it was good for; zero: not counted. Counted is
	// how many its owner was shown in the end.
	Most, Counted int
	Back          Told
	Uses          []Use
}

// Use is one reading by a guest.
type Use struct {
	When   Phase
	Told   Told
	Status int
}

// Phase is when a permission was used.
type Phase string

// The phases.
const (
	Lent      Phase = "while it is lent"
	TakenBack Phase = "a second after it was taken back"
	Healed    Phase = "after everything was healed"
)
