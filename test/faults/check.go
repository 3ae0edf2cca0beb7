package faults

import (
	"fmt"
	"slices"
	"strings"
)

// The promises that are checked. A violation names one.
const (
	LostWrite       = "an acknowledged write is lost"
	GhostWrite      = "a refused write is there"
	LostUpdate      = "two writers replaced the same version"
	HalfVisible     = "a version is half visible"
	EndlessRun      = "a run has no end"
	TornStream      = "a reader saw other bytes than the log has"
	TwiceStored     = "a message is stored twice"
	UncountedPIN    = "a PIN attempt is not counted"
	OvercountedPIN  = "a PIN attempt is counted twice"
	Undone          = "an acknowledged change was undone"
	ForgottenKey    = "a request was not recognised when it came again"
	KeptLoan        = "what was taken back is still good"
	LostLoan        = "what was lent is refused"
	OverusedLoan    = "a link was used more often than it is good for"
	UncountedUse    = "a use of a link is not counted"
	CreditsAmiss    = "a credit was created or destroyed"
	ToolTwice       = "an event reached a browser tool twice"
	Unsound         = "the doctor is not content"
	NotFoundOut     = "the checker could not find out"
	lockAfter       = 5 // wrong PINs in a row
	doneEvent       = "done"
	humanMessage    = "human"
	oracleMessage   = "ai"
	finishedRun     = "finished"
	finishedWaiting = "running recovering queued"
)

// Violation is a promise that was not kept.
type Violation struct{ Rule, Text string }

func (v Violation) String() string { return v.Rule + ": " + v.Text }

type findings []Violation

func (f *findings) add(rule, format string, args ...any) {
	*f = append(*f, Violation{rule, fmt.Sprintf(format, args...)})
}

// Check compares what clients were told with what is there.
func Check(e Evidence) []Violation {
	var found findings
	for _, problem := range e.Problems {
		found.add(NotFoundOut, "%s", problem)
	}
	if e.Doctor != "" {
		found.add(Unsound, "%s", e.Doctor)
	}
	checkFiles(&found, e)
	checkAccounts(&found, e)
	checkTurns(&found, e)
	checkCalls(&found, e)
	checkCredits(&found, e)
	checkNotes(&found, e)
	checkThings(&found, e)
	checkLoans(&found, e)
	return found
}

func checkFiles(found *findings, e Evidence) {
	files := map[string]File{}
	for _, f := range e.Files {
		files[f.Path] = f
		for _, v := range f.Versions {
			if v.CID != v.Content {
				found.add(HalfVisible, "%s lists %s and gives %s", f.Path, v.CID, v.Content)
			}
		}
	}
	writes := map[string][]Write{}
	for _, w := range e.Writes {
		writes[w.Path] = append(writes[w.Path], w)
	}
	for path, all := range writes {
		checkFile(found, files[path], path, all)
	}
	for _, r := range e.Reads {
		switch {
		case r.CID != r.Content:
			found.add(HalfVisible, "%s was given as %s with the bytes of %s", r.Path, r.CID, r.Content)
		case !slices.ContainsFunc(files[r.Path].Versions, func(v Version) bool { return v.CID == r.CID }):
			found.add(HalfVisible, "%s version %s was read, and is not there", r.Path, r.CID)
		}
	}
	for path, f := range files {
		for _, v := range f.Versions {
			if !slices.ContainsFunc(writes[path], func(w Write) bool { return w.CID == v.CID }) {
				found.add(HalfVisible, "%s has a version %s that nobody wrote", path, v.CID)
			}
		}
	}
}

// checkFile holds the writes of one path against its versions. Versions never
// leave by themselves, so every acknowledged one is still listed.
func checkFile(found *findings, f File, path string, writes []Write) {
	place := func(cid string) int { // from the oldest; -1: not there
		at := slices.IndexFunc(f.Versions, func(v Version) bool { return v.CID == cid })
		if at < 0 {
			return -1
		}
		return len(f.Versions) - 1 - at
	}
	replaced := map[string]string{}
	for i, w := range writes {
		at := place(w.CID)
		switch {
		case w.Told == Acknowledged && at < 0:
			found.add(LostWrite, "%s version %s", path, w.CID)
		case w.Told == Refused && at >= 0:
			found.add(GhostWrite, "%s version %s", path, w.CID)
		case w.If != "" && at >= 0:
			if before := place(w.If); before != at-1 {
				found.add(LostUpdate, "%s version %s is not the successor of %s", path, w.CID, w.If)
			}
			if other, twice := replaced[w.If]; twice {
				found.add(LostUpdate, "%s: %s and %s both replaced %s", path, other, w.CID, w.If)
			}
			replaced[w.If] = w.CID
		}
		// One writer's later write without a condition comes after its earlier one.
		if w.Told != Acknowledged || w.If != "" {
			continue
		}
		for _, earlier := range writes[:i] {
			if earlier.Told == Acknowledged && earlier.If == "" && place(earlier.CID) > at && at >= 0 {
				found.add(LostWrite, "%s version %s was written before %s and covers it", path, earlier.CID, w.CID)
			}
		}
	}
	doubled := map[string]bool{}
	for _, v := range f.Versions {
		if doubled[v.CID] {
			found.add(HalfVisible, "%s lists %s twice", path, v.CID)
		}
		doubled[v.CID] = true
	}
}

func checkAccounts(found *findings, e Evidence) {
	for _, a := range e.Accounts {
		if a.Told == Acknowledged && !a.There {
			found.add(LostWrite, "account %s", a.ID)
		}
		// After the last right PIN that may have been let in, every wrong one that
		// was told as wrong is counted. After the last that surely was let in,
		// nothing is counted that nobody tried.
		told, tried, locked := 0, 0, false
		for _, t := range e.Attempts {
			if t.Account != a.ID || t.Told == Refused {
				continue
			}
			switch {
			case t.Locked:
				locked = true
				tried += max(t.Sent, 1)
			case t.Right && t.Told == Acknowledged:
				told, tried = 0, 0
			case t.Right:
				told = 0
				tried += max(t.Sent, 1)
			case t.Told == Acknowledged:
				told++
				tried += max(t.Sent, 1)
			default:
				tried += max(t.Sent, 1)
			}
		}
		if a.Failures < told {
			found.add(UncountedPIN, "account %s: %d wrong PINs were told, %d are counted", a.ID, told, a.Failures)
		}
		if a.Failures > tried {
			found.add(OvercountedPIN, "account %s: %d PINs were tried, %d are counted", a.ID, tried, a.Failures)
		}
		if (locked || told >= lockAfter) && !a.Locked {
			found.add(UncountedPIN, "account %s: %d wrong PINs, told locked %v, and no lock", a.ID, told, locked)
		}
	}
}

func checkTurns(found *findings, e Evidence) {
	runs := map[string]Run{}
	for _, r := range e.Runs {
		runs[r.ID] = r
		ends := 0
		for _, f := range r.Frames {
			if f.Event == doneEvent {
				ends++
			}
		}
		if ends != 1 || r.Frames[len(r.Frames)-1].Event != doneEvent || strings.Contains(finishedWaiting, r.Status) {
			found.add(EndlessRun, "run %s is %s with %d ends", r.ID, r.Status, ends)
		}
	}
	talks := map[string]Talk{}
	for _, t := range e.Talks {
		talks[t.Session] = t
	}
	for _, t := range e.Turns {
		times := 0
		for _, m := range talks[t.Session].Messages {
			if m.Type == humanMessage && m.Content == t.Message {
				times++
			}
		}
		switch {
		case times > 1:
			found.add(TwiceStored, "%q in session %s", t.Message, t.Session)
		case times == 0 && t.Told == Acknowledged:
			found.add(LostWrite, "message %q of session %s", t.Message, t.Session)
		case times == 1 && t.Told == Refused:
			found.add(GhostWrite, "message %q of session %s", t.Message, t.Session)
		}
		if t.Run == "" {
			continue
		}
		r, there := runs[t.Run]
		if !there {
			found.add(LostWrite, "run %s", t.Run)
			continue
		}
		checkStream(found, t, r)
		checkAnswer(found, t, r, talks[t.Session])
	}
}

// checkStream compares what a reader saw with the log: the same frames in the
// same order, without a gap, from the first one on.
func checkStream(found *findings, t Turn, r Run) {
	if len(t.Frames) > len(r.Frames) {
		found.add(TornStream, "run %s: %d frames were seen, the log has %d", r.ID, len(t.Frames), len(r.Frames))
		return
	}
	for i, f := range t.Frames {
		if f != r.Frames[i] {
			found.add(TornStream, "run %s: frame %d was %v, the log has %v", r.ID, i, f, r.Frames[i])
			return
		}
	}
}

// checkAnswer looks for the answer of a turn that was seen to be finished.
func checkAnswer(found *findings, t Turn, r Run, talk Talk) {
	if r.Status != finishedRun || len(t.Frames) == 0 || t.Frames[len(t.Frames)-1].Event != doneEvent {
		return
	}
	at := slices.IndexFunc(talk.Messages, func(m Message) bool { return m.Type == humanMessage && m.Content == t.Message })
	for _, m := range talk.Messages[at+1:] {
		if m.Type == humanMessage {
			break
		}
		if m.Type == oracleMessage && strings.Contains(m.Content, Answer(t.Message)) {
			return
		}
	}
	found.add(LostWrite, "the answer to %q of session %s", t.Message, t.Session)
}

func checkCalls(found *findings, e Evidence) {
	ids, numbers := map[string]Call{}, map[string]Call{}
	for _, c := range e.Calls {
		if first, twice := ids[c.ID]; twice {
			found.add(ToolTwice, "call %s at page %s and at page %s", c.ID, first.Page, c.Page)
		}
		ids[c.ID] = c
		if first, twice := numbers[c.Session+" "+c.Number]; twice && first.ID != c.ID {
			found.add(ToolTwice, "number %s of session %s by call %s and by call %s", c.Number, c.Session, first.ID, c.ID)
		}
		numbers[c.Session+" "+c.Number] = c
	}
}

func checkCredits(found *findings, e Evidence) {
	ledger := map[string]Balance{}
	for _, b := range e.Ledger {
		ledger[b.DID] = b
		if b.Granted != b.Available+b.Held+b.Spent || min(b.Available, b.Held, b.Spent, b.Owed) < 0 {
			found.add(CreditsAmiss, "%+v does not add up", b)
		}
		if b.Granted != b.EntriesGranted || b.Spent+b.Owed != b.EntriesSpent {
			found.add(CreditsAmiss, "%+v is not the sum of its entries", b)
		}
		if b.Held != b.Holds {
			found.add(CreditsAmiss, "%+v: what is held is not what will be given back", b)
		}
		if b.Uses > b.Settled {
			found.add(CreditsAmiss, "%s paid %d times for %d turns", b.DID, b.Uses, b.Settled)
		}
	}
	least, most := map[string]int64{}, map[string]int64{}
	for _, g := range e.Grants {
		if g.Told == Acknowledged {
			least[g.DID] += g.Amount
		}
		if g.Told != Refused {
			most[g.DID] += g.Amount
		}
	}
	for did := range most {
		if granted := ledger[did].Granted; granted < least[did] || granted > most[did] {
			found.add(CreditsAmiss, "%s has %d granted; told were %d to %d", did, granted, least[did], most[did])
		}
	}
}

func checkNotes(found *findings, e Evidence) {
	for _, n := range e.Notes {
		times := 0
		for _, text := range e.Kept[n.Owner] {
			if text == n.Text {
				times++
			}
		}
		switch {
		case n.Told == Acknowledged && times == 0:
			found.add(LostWrite, "memory %q of %s", n.Text, n.Owner)
		case n.Told == Refused && times > 0:
			found.add(GhostWrite, "memory %q of %s", n.Text, n.Owner)
		case times > 1:
			found.add(TwiceStored, "memory %q of %s", n.Text, n.Owner)
		}
	}
}
