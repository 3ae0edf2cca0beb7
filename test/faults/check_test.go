package faults

import (
	"slices"
	"testing"
	"time"
)

// sound is evidence without a fault.
func sound() Evidence {
	frames := []Frame{{"1", "run", "{}"}, {"2", "message", "You"}, {"3", "done", "{}"}}
	return Evidence{
		Writes: []Write{
			{Path: "/a", CID: "one", Told: Acknowledged},
			{Path: "/a", CID: "two", Told: Unknown},
			{Path: "/a", CID: "three", Told: Acknowledged},
			{Path: "/a", CID: "four", Told: Refused},
			{Path: "/b", CID: "x", Told: Acknowledged},
			{Path: "/b", CID: "y", If: "x", Told: Acknowledged},
			{Path: "/b", CID: "z", If: "x", Told: Refused},
		},
		Reads: []Read{{Path: "/a", CID: "one", Content: "one"}, {Path: "/b", CID: "y", Content: "y"}},
		Files: []File{
			{Path: "/a", Versions: []Version{{"three", "three"}, {"one", "one"}}},
			{Path: "/b", Versions: []Version{{"y", "y"}, {"x", "x"}}},
		},
		Accounts: []Account{
			{ID: "C1", Told: Acknowledged, There: true, Failures: 2},
			{ID: "C2", Told: Acknowledged, There: true, Failures: 5, Locked: true},
		},
		Attempts: []Attempt{
			{Account: "C1", Told: Acknowledged},
			{Account: "C1", Right: true, Told: Acknowledged},
			{Account: "C1", Told: Acknowledged},
			{Account: "C1", Told: Unknown},
			{Account: "C2", Told: Acknowledged},
			{Account: "C2", Told: Acknowledged},
			{Account: "C2", Told: Acknowledged},
			{Account: "C2", Told: Acknowledged},
			{Account: "C2", Told: Acknowledged, Locked: true},
		},
		Turns: []Turn{
			{Session: "s", Message: "hello", Run: "r1", Told: Acknowledged, Frames: slices.Clone(frames)},
			{Session: "s", Message: "lost", Told: Unknown},
			{Session: "s", Message: "again", Run: "r2", Told: Acknowledged, Frames: slices.Clone(frames[:2])},
		},
		Runs: []Run{
			{ID: "r1", Session: "s", Status: "finished", Frames: frames},
			{ID: "r2", Session: "s", Status: "aborted", Frames: frames},
		},
		Talks: []Talk{{Session: "s", Messages: []Message{
			{"human", "hello"}, {"ai", Answer("hello")}, {"human", "again"},
		}}},
		Calls: []Call{
			{Session: "s", ID: "c1", Page: "p", Number: "1"},
			{Session: "s", ID: "c2", Page: "p", Number: "2"},
			{Session: "t", ID: "c3", Page: "q", Number: "1"},
		},
		Grants: []Grant{{"did:a", 100, Acknowledged}, {"did:a", 50, Unknown}, {"did:a", 10, Refused}},
		Ledger: []Balance{{
			DID: "did:a", Granted: 150, Available: 90, Held: 20, Spent: 40, Owed: 3, EntriesGranted: 150,
			EntriesSpent: 43, Holds: 20, Uses: 2, Settled: 2,
		}},
		Notes: []Note{{"did:a", "it rains", Acknowledged}, {"did:a", "it snows", Unknown}, {"did:a", "it hails", Refused}},
		Kept:  map[string][]string{"did:a": {"it rains"}},
		Things: []Thing{
			{CID: "k", Path: "/1", Changes: []Change{
				{To: "/2", Told: Acknowledged},
				{To: "", Told: Acknowledged},
				{To: "/3", Told: Refused},
			}, Found: []Place{{"", "k"}}},
			{CID: "l", Path: "/4", Changes: []Change{
				{To: "/5", Told: Refused, Status: 423},
				{To: "/6", Told: Acknowledged},
				{To: "/7", Told: Unknown},
			}, Found: []Place{{"/6", "l"}}},
		},
		Loans: []Loan{
			{Name: "token", Back: Acknowledged, Uses: []Use{
				{Lent, Acknowledged, 200},
				{Lent, Refused, 0},
				{Lent, Unknown, 503},
				{TakenBack, Refused, 401},
				{TakenBack, Unknown, 503},
				{Healed, Refused, 401},
			}},
			{Name: "link", Most: 3, Counted: 2, Back: Refused, Uses: []Use{
				{Lent, Acknowledged, 200}, {Lent, Unknown, 0}, {Healed, Acknowledged, 200},
			}},
			{
				Name: "used up", Most: 1, Counted: 1, Back: Unknown,
				Uses: []Use{{Lent, Acknowledged, 200}, {Lent, Refused, 403}, {Healed, Refused, 403}},
			},
		},
	}
}

func TestTheCheckerIsContentWithWhatIsSound(t *testing.T) {
	t.Parallel()
	for _, v := range Check(sound()) {
		t.Errorf("%v", v)
	}
	// What is unknown may have happened.
	e := sound()
	e.Files[0].Versions = []Version{{"three", "three"}, {"two", "two"}, {"one", "one"}}
	e.Talks[0].Messages = append(e.Talks[0].Messages, Message{"human", "lost"})
	e.Kept["did:a"] = append(e.Kept["did:a"], "it snows")
	e.Accounts[0].Failures = 1
	e.Things[1].Found = []Place{{"/7", "l"}}
	e.Ledger[0].Granted, e.Ledger[0].Available, e.Ledger[0].EntriesGranted = 100, 40, 100
	for _, v := range Check(e) {
		t.Errorf("with the unknown: %v", v)
	}
}

// Each violation is planted in sound evidence, and the checker must name it.
func TestTheCheckerSeesEveryViolation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule  string
		plant func(e *Evidence)
	}{
		"a version is gone": {LostWrite, func(e *Evidence) { e.Files[0].Versions = e.Files[0].Versions[:1] }},
		"a file is gone":    {LostWrite, func(e *Evidence) { e.Files = e.Files[:1] }},
		"versions swapped":  {LostWrite, func(e *Evidence) { slices.Reverse(e.Files[0].Versions) }},
		"a refused version": {GhostWrite, func(e *Evidence) {
			e.Files[0].Versions = append([]Version{{"four", "four"}}, e.Files[0].Versions...)
		}},
		"two successors": {LostUpdate, func(e *Evidence) {
			e.Writes[6].Told = Acknowledged
			e.Files[1].Versions = []Version{{"z", "z"}, {"y", "y"}, {"x", "x"}}
		}},
		"other bytes": {HalfVisible, func(e *Evidence) { e.Files[1].Versions[0].Content = "w" }},
		"no bytes":    {HalfVisible, func(e *Evidence) { e.Files[1].Versions[1].Content = "" }},
		"nobody's version": {HalfVisible, func(e *Evidence) {
			e.Files[0].Versions = append(e.Files[0].Versions, Version{"q", "q"})
		}},
		"a version twice": {HalfVisible, func(e *Evidence) {
			e.Files[0].Versions = append(e.Files[0].Versions, Version{"one", "one"})
		}},
		"half of the bytes read":  {HalfVisible, func(e *Evidence) { e.Reads[1].Content = "half of y" }},
		"a version read and gone": {HalfVisible, func(e *Evidence) { e.Reads[1].CID, e.Reads[1].Content = "w", "w" }},
		"a file read and gone":    {HalfVisible, func(e *Evidence) { e.Reads = append(e.Reads, Read{"/c", "q", "q"}) }},
		"an account is gone":      {LostWrite, func(e *Evidence) { e.Accounts[0].There = false }},
		"an attempt is forgotten": {UncountedPIN, func(e *Evidence) { e.Accounts[0].Failures = 0 }},
		"a lock is forgotten":     {UncountedPIN, func(e *Evidence) { e.Accounts[1].Locked = false }},
		"an attempt too many":     {OvercountedPIN, func(e *Evidence) { e.Accounts[0].Failures = 3 }},
		"a run at work":           {EndlessRun, func(e *Evidence) { e.Runs[0].Status = "running" }},
		"a log without an end":    {EndlessRun, func(e *Evidence) { e.Runs[1].Frames = e.Runs[1].Frames[:2] }},
		"a log without anything":  {EndlessRun, func(e *Evidence) { e.Runs[1].Frames = nil; e.Turns[2].Frames = nil }},
		"a log with two ends": {EndlessRun, func(e *Evidence) {
			e.Runs[1].Frames = append(slices.Clone(e.Runs[1].Frames), Frame{"4", "done", "{}"})
		}},
		"a run is gone":       {LostWrite, func(e *Evidence) { e.Runs = e.Runs[:1] }},
		"a frame changed":     {TornStream, func(e *Evidence) { e.Turns[0].Frames[1].Data = "Me" }},
		"a frame was skipped": {TornStream, func(e *Evidence) { e.Turns[0].Frames = slices.Delete(e.Turns[0].Frames, 1, 2) }},
		"a frame too many": {TornStream, func(e *Evidence) {
			e.Turns[0].Frames = append(e.Turns[0].Frames, Frame{"4", "message", "more"})
		}},
		"a message is gone": {LostWrite, func(e *Evidence) { e.Talks[0].Messages = e.Talks[0].Messages[:2] }},
		"an answer is gone": {LostWrite, func(e *Evidence) { e.Talks[0].Messages = slices.Delete(e.Talks[0].Messages, 1, 2) }},
		"a refused message": {GhostWrite, func(e *Evidence) { e.Turns[2].Told, e.Turns[2].Run = Refused, "" }},
		"a message twice": {TwiceStored, func(e *Evidence) {
			e.Talks[0].Messages = append(e.Talks[0].Messages, Message{"human", "hello"})
		}},
		"a call at two pages": {ToolTwice, func(e *Evidence) {
			e.Calls = append(e.Calls, Call{Session: "s", ID: "c1", Page: "other", Number: "1"})
		}},
		"a call twice at a page": {ToolTwice, func(e *Evidence) { e.Calls = append(e.Calls, e.Calls[0]) }},
		"a number by two calls": {ToolTwice, func(e *Evidence) {
			e.Calls = append(e.Calls, Call{Session: "s", ID: "c9", Page: "p", Number: "2"})
		}},
		"a sum that is wrong": {CreditsAmiss, func(e *Evidence) { e.Ledger[0].Available++ }},
		"a negative sum":      {CreditsAmiss, func(e *Evidence) { e.Ledger[0].Held, e.Ledger[0].Available = -1, 111 }},
		"a grant is gone": {CreditsAmiss, func(e *Evidence) {
			e.Ledger[0].Granted, e.Ledger[0].Available, e.Ledger[0].EntriesGranted = 50, -10, 50
		}},
		"a grant too many": {CreditsAmiss, func(e *Evidence) {
			e.Ledger[0].Granted, e.Ledger[0].Available, e.Ledger[0].EntriesGranted = 160, 100, 160
		}},
		"a use without an entry": {CreditsAmiss, func(e *Evidence) { e.Ledger[0].EntriesSpent = 20 }},
		"held for ever":          {CreditsAmiss, func(e *Evidence) { e.Ledger[0].Holds = 0 }},
		"a turn paid twice":      {CreditsAmiss, func(e *Evidence) { e.Ledger[0].Uses = 3 }},
		"an account of nobody":   {CreditsAmiss, func(e *Evidence) { e.Ledger = nil }},
		"a memory is gone":       {LostWrite, func(e *Evidence) { e.Kept = nil }},
		"a refused memory":       {GhostWrite, func(e *Evidence) { e.Kept["did:a"] = append(e.Kept["did:a"], "it hails") }},
		"a memory twice":         {TwiceStored, func(e *Evidence) { e.Kept["did:a"] = append(e.Kept["did:a"], "it rains") }},
		"a file is nowhere":      {LostWrite, func(e *Evidence) { e.Things[1].Found = nil }},
		"a file in two places":   {TwiceStored, func(e *Evidence) { e.Things[1].Found = append(e.Things[1].Found, Place{"/7", "l"}) }},
		"a move is undone":       {Undone, func(e *Evidence) { e.Things[1].Found = []Place{{"/4", "l"}} }},
		"out of the trash":       {Undone, func(e *Evidence) { e.Things[0].Found = []Place{{"/2", "k"}} }},
		"a refused restoring":    {GhostWrite, func(e *Evidence) { e.Things[0].Found = []Place{{"/3", "k"}} }},
		"moved without bytes":    {HalfVisible, func(e *Evidence) { e.Things[1].Found = []Place{{"/6", "nothing"}} }},
		"a move that came again": {ForgottenKey, func(e *Evidence) { e.Things[1].Changes[2].Status = 404 }},
		"good after a second":    {KeptLoan, func(e *Evidence) { e.Loans[0].Uses[3] = Use{TakenBack, Acknowledged, 200} }},
		"good after the healing": {KeptLoan, func(e *Evidence) { e.Loans[0].Uses[5] = Use{Healed, Acknowledged, 200} }},
		"refused while lent":     {LostLoan, func(e *Evidence) { e.Loans[0].Uses[1].Status = 401 }},
		"not taken back, over":   {LostLoan, func(e *Evidence) { e.Loans[1].Uses[2] = Use{Healed, Refused, 403} }},
		"read once too often":    {OverusedLoan, func(e *Evidence) { e.Loans[2].Uses[1] = Use{Lent, Acknowledged, 200} }},
		"a reading not counted":  {UncountedUse, func(e *Evidence) { e.Loans[1].Counted = 0 }},
		"the doctor complains":   {Unsound, func(e *Evidence) { e.Doctor = "1 faults" }},
		"no answer at all":       {NotFoundOut, func(e *Evidence) { e.Problems = []string{"GET /x: 503"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			c.plant(&e)
			found := Check(e)
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == c.rule }) {
				t.Errorf("planted %q, found %v", c.rule, found)
			}
		})
	}
}

func TestASeedIsAPlan(t *testing.T) {
	t.Parallel()
	const fleet, length = 3, 10 * time.Second
	for seed := range uint64(50) {
		p := NewPlan(seed, fleet, length)
		if again := NewPlan(seed, fleet, length); p.String() != again.String() {
			t.Fatalf("seed %d:\n%v\n%v", seed, p, again)
		}
		if next := NewPlan(seed+1, fleet, length); slices.Equal(p.Steps, next.Steps) {
			t.Errorf("seeds %d and %d are the same", seed, seed+1)
		}
		for _, s := range p.Steps {
			if s.At < 0 || s.At+s.For > 2*length || s.Node < 0 || s.Node >= fleet || s.For <= 0 {
				t.Errorf("seed %d: %v", seed, s)
			}
		}
	}
	// Three seeds in a row, from a multiple of three on, have every fault.
	for seed := uint64(3); seed < 30; seed += 3 {
		for _, f := range All {
			if !slices.ContainsFunc([]uint64{seed, seed + 1, seed + 2}, func(s uint64) bool {
				return slices.ContainsFunc(NewPlan(s, fleet, length).Steps, func(step Step) bool { return step.Fault == f })
			}) {
				t.Errorf("seeds %d to %d have no %s", seed, seed+2, f)
			}
		}
	}
}
