package ussdmenu

// The bounds of what a menu may make of a little text.
const (
	// maxLanguages bounds what every text is held against.
	maxLanguages = 64
	// maxScreen is how many letters a screen may have over all its pages, with every value
	// as long as it may be: who calls pages through it, and each hop makes it whole.
	maxScreen = 64_000
	// maxIssues is how many issues are told, and maxMessage how many bytes of each, which
	// quotes what somebody wrote; who mends those sees the others.
	maxIssues, maxMessage = 500, 1000
	// maxWork is how many letters, names and ways all menus of a text may make a check look
	// at. The menu that we ship takes a hundredth of it.
	maxWork = 20_000_000
	// reading is what a byte of YAML costs, kept what it costs to keep a name, in letters.
	reading, kept = 5, 8
	// stride is how much work is done between two looks at whether somebody still waits.
	stride = 10_000
)

// Work is what reading the menus of a text may cost, whoever wrote it. It is spent by all
// of them together, and ends with the request that they are read for.
type Work struct {
	left, since int
	ended       func() error
	err         error
}

// NewWork returns the work of a text. ended says whether nobody waits for it any more,
// as the Err of a context; nil: somebody always does.
func NewWork(ended func() error) *Work { return &Work{left: maxWork, ended: ended} }

// spend takes n from what is left and reports whether the work goes on. Once it has not,
// it never does.
func (w *Work) spend(n int) bool {
	w.left, w.since = w.left-n, w.since+n
	if w.left >= 0 && w.err == nil && w.since >= stride {
		w.since = 0
		return w.Err() == nil
	}
	return w.left >= 0 && w.err == nil
}

// Err is why nobody waits any more.
func (w *Work) Err() error {
	if w.err == nil && w.ended != nil {
		w.err = w.ended()
	}
	return w.err
}
