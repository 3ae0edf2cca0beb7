package ussdmenu

// The bounds of what a menu may make of a little text.
const (
	// maxLanguages bounds what every text is held against.
	maxLanguages = 64
	// maxScreen is how many letters a screen may have over all its pages, with every value
	// as long as it may be: who calls pages through it, and each hop makes it whole.
	maxScreen = 64_000
	// maxIncluded bounds what a menu and the parts that it includes are together, and
	// all menus of a text with theirs: a shared part is read for each of them.
	maxIncluded = 4 << 20
	// maxIssues is how many issues are told; who mends those sees the others.
	maxIssues = 500
	// maxMessage bounds one of them, in bytes: it quotes what somebody wrote.
	maxMessage = 1000
	// maxWork is how many letters, names and ways all menus of a text may make a check look
	// at. The menu that we ship takes a hundredth of it.
	maxWork = 20_000_000
	// kept is what it costs to keep a name, in letters.
	kept = 8
	// stride is how much work is done between two looks at whether somebody still waits.
	stride = 10_000
)

// Work is what reading the menus of a text may cost, whoever wrote it. It is spent by all
// of them together, and ends with the request that they are read for.
type Work struct {
	left, since, source int
	ended               func() error
	err                 error
	much                bool
}

// NewWork returns the work of a text. ended says whether nobody waits for it any more,
// as the Err of a context; nil: somebody always does.
func NewWork(ended func() error) *Work {
	return &Work{left: maxWork, source: maxIncluded, ended: ended}
}

// spend takes n from what is left and reports whether the work goes on. Once it has not,
// it never does.
func (w *Work) spend(n int) bool {
	if w.err != nil || w.much {
		return false
	}
	w.left -= n
	w.since += n
	if w.left < 0 {
		w.much = true
		return false
	}
	if w.since >= stride {
		w.since = 0
		return w.Err() == nil
	}
	return true
}

// read takes a source to be read.
func (w *Work) read(bytes int) bool {
	if w.source -= bytes; w.source < 0 {
		w.much = true
	}
	return w.Err() == nil && !w.much
}

// Err is why nobody waits any more.
func (w *Work) Err() error {
	if w.err == nil && w.ended != nil {
		w.err = w.ended()
	}
	return w.err
}
