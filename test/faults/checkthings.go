package faults

import (
	"net/http"
	"slices"
)

// checkThings looks for every file that was put in order: it is in one place, and
// that is where the changes left it.
func checkThings(found *findings, e Evidence) {
	for _, t := range e.Things {
		allowed := []string{t.Path}
		for _, c := range t.Changes {
			switch c.Told {
			case Acknowledged:
				allowed = []string{c.To}
			case Unknown:
				allowed = append(allowed, c.To)
			}
			// Nobody else touches the file: it cannot be missing.
			if c.Status == http.StatusNotFound {
				found.add(ForgottenKey, "%s of %s on its way to %q: 404", t.CID, t.Owner, c.To)
			}
		}
		switch {
		case len(t.Found) == 0:
			found.add(LostWrite, "%s of %s is nowhere; it belongs to one of %q", t.CID, t.Owner, allowed)
			continue
		case len(t.Found) > 1:
			found.add(TwiceStored, "%s of %s is in %d places: %v", t.CID, t.Owner, len(t.Found), t.Found)
		}
		for _, p := range t.Found {
			if p.Content != t.CID {
				found.add(HalfVisible, "%s of %s at %q gives %s", t.CID, t.Owner, p.Path, p.Content)
			}
			switch {
			case slices.Contains(allowed, p.Path):
			case slices.ContainsFunc(t.Changes, func(c Change) bool { return c.To == p.Path && c.Told == Refused }):
				found.add(GhostWrite, "%s of %s is at %q", t.CID, t.Owner, p.Path)
			default:
				found.add(Undone, "%s of %s is at %q and belongs to one of %q", t.CID, t.Owner, p.Path, allowed)
			}
		}
	}
}

// checkLoans looks at what guests could read, and when.
func checkLoans(found *findings, e Evidence) {
	for _, l := range e.Loans {
		read, perhaps := 0, 0
		for _, u := range l.Uses {
			denied := u.Status == http.StatusUnauthorized || u.Status == http.StatusForbidden
			over := l.Back == Acknowledged && u.When != Lent
			good := u.When == Lent || l.Back == Refused
			switch {
			case u.Told == Acknowledged && over:
				found.add(KeptLoan, "%s, %s", l.Name, u.When)
			case denied && good && (l.Most == 0 || perhaps < l.Most):
				found.add(LostLoan, "%s, %s: %d", l.Name, u.When, u.Status)
			}
			if u.Told == Acknowledged {
				read++
			}
			if u.Told != Refused {
				perhaps++
			}
		}
		if l.Most == 0 {
			continue
		}
		if read > l.Most {
			found.add(OverusedLoan, "%s was good for %d and read %d times", l.Name, l.Most, read)
		}
		before := slices.DeleteFunc(slices.Clone(l.Uses), func(u Use) bool {
			return u.When == Healed || u.Told != Acknowledged
		})
		if l.Counted < len(before) {
			found.add(UncountedUse, "%s was read %d times, %d are counted", l.Name, len(before), l.Counted)
		}
	}
}
