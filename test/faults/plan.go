package faults

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Fault is one kind of harm.
type Fault string

// What is done to a fleet. Some need a node, others strike all at once.
const (
	Kill            Fault = "kill"             // a node, as a power cut would; it is started again
	Pause           Fault = "pause"            // a node stands still and then goes on as if nothing had been
	CutDatabase     Fault = "cut database"     // a node from PostgreSQL
	CutObjects      Fault = "cut objects"      // a node from S3
	CutBus          Fault = "cut bus"          // a node from NATS
	CutPeers        Fault = "cut peers"        // a node from the other nodes
	CutClients      Fault = "cut clients"      // a node from everybody who asks it, and from the model
	Unplug          Fault = "unplug"           // a node from everything
	SlowLine        Fault = "slow line"        // a node's cable carries little, and late; what does not fit is lost
	RestartDatabase Fault = "restart database" // PostgreSQL is killed and recovers
	RestartObjects  Fault = "restart objects"  // the S3 server is killed
	RestartBus      Fault = "restart bus"      // NATS is killed and forgets
	SlowDatabase    Fault = "slow database"    // every commit waits for its disk
	SlowObjects     Fault = "slow objects"     // the S3 server gets a fifth of its time
	FullDatabase    Fault = "full database"    // no byte is left on PostgreSQL's disk
	FullObjects     Fault = "full objects"     // no byte is left on the S3 server's disk
	Clock           Fault = "clock"            // a node comes back with a wrong clock
	FullNode        Fault = "full node"        // no byte is left on the disk of a node that is alone
)

// ofNode are the faults that strike one node.
var ofNode = []Fault{
	Kill, Pause, CutDatabase, CutObjects, CutBus, CutPeers, CutClients, Unplug, SlowLine, Clock, FullNode,
}

// Lonely are the faults of a node that is alone.
var Lonely = []Fault{Kill, Pause, CutClients, Unplug, SlowLine, Clock, FullNode}

// All are the faults of a fleet.
var All = append(slices.DeleteFunc(slices.Clone(ofNode), func(f Fault) bool {
	return f == FullNode
}), RestartDatabase, RestartObjects, RestartBus, SlowDatabase, SlowObjects, FullDatabase, FullObjects)

// Step is one fault of a plan.
type Step struct {
	At, For time.Duration
	Fault   Fault
	Node    int
	// How tells the kinds of a cut apart.
	How string
	// Offset is how wrong a clock is.
	Offset time.Duration
}

func (s Step) String() string {
	text := fmt.Sprintf("%5.1fs  %-16s for %4.1fs", s.At.Seconds(), s.Fault, s.For.Seconds())
	if slices.Contains(ofNode, s.Fault) {
		text += fmt.Sprintf("  node %d", s.Node)
	}
	if s.How != "" {
		text += "  " + s.How
	}
	if s.Offset != 0 {
		text += fmt.Sprintf("  %+v", s.Offset)
	}
	return text
}

// Plan is a schedule of faults. The seed says all.
type Plan struct {
	Seed  uint64
	Steps []Step
}

func (p Plan) String() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "plan of seed %d\n", p.Seed)
	for _, s := range p.Steps {
		_, _ = fmt.Fprintln(&b, " ", s)
	}
	return b.String()
}

// perPlan is how many faults a fleet's plan has: with All in a shuffled row that
// wraps round, three plans with seeds in a row have every kind. A node that is
// alone gets all of its own.
const perPlan = 6

// NewPlan makes the plan of a seed for a fleet of so many nodes within a time.
func NewPlan(seed uint64, nodes int, length time.Duration) Plan {
	deal, many := slices.Clone(All), perPlan
	if nodes == 1 {
		deal, many = slices.Clone(Lonely), len(Lonely)
	}
	// One shuffle for a few seeds in a row, and each takes the next cards.
	deck := rand.New(rand.NewPCG(seed/3, 7))
	deck.Shuffle(len(deal), func(i, j int) { deal[i], deal[j] = deal[j], deal[i] })
	random := rand.New(rand.NewPCG(seed, 11))
	p := Plan{Seed: seed}
	for i := range many {
		s := Step{
			Fault: deal[(int(seed%3)*many+i)%len(deal)], Node: random.IntN(nodes),
			At:  time.Duration(random.Int64N(int64(length * 7 / 10))).Round(100 * time.Millisecond),
			For: (length/12 + time.Duration(random.Int64N(int64(length/3)))).Round(100 * time.Millisecond),
		}
		switch s.Fault {
		case CutDatabase, CutObjects, CutBus, CutPeers, CutClients:
			s.How = []string{"refused", "deaf", "both"}[random.IntN(3)]
		case Clock:
			s.Offset = time.Duration(random.IntN(240)-120) * time.Second
		}
		p.Steps = append(p.Steps, s)
	}
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return p
}
