package yamlfile

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// checkAliases counts what aliases would repeat. One inside an anchor would
// multiply, so there may be none.
func checkAliases(file *ast.File) error {
	all := &anchors{}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			ast.Walk(within{all, outside}, doc.Body)
		}
	}
	if all.err != nil {
		return all.err
	}
	for i := range slices.Backward(all.list) { // what is inside comes behind what it is in
		if a := all.list[i]; a.in != outside {
			all.list[a.in].nodes += a.nodes
			all.list[a.in].bytes += a.bytes
		}
	}
	// A name may be given again further down; the largest value that has it counts.
	sizes := make(map[string]anchored, len(all.list))
	for _, a := range all.list {
		most := sizes[a.name]
		sizes[a.name] = anchored{nodes: max(most.nodes, a.nodes), bytes: max(most.bytes, a.bytes)}
	}
	nodes, bytes := 0, 0
	for _, alias := range all.aliases {
		line := alias.GetToken().Position.Line
		a := sizes[nameOf(alias.Value)]
		if nodes += 1 + a.nodes; nodes > MaxRepeated {
			return fmt.Errorf("line %d: the aliases stand for more than %d values", line, MaxRepeated)
		}
		if bytes += a.bytes; bytes > MaxRepeatedBytes {
			return fmt.Errorf("line %d: the aliases stand for more than %d bytes", line, MaxRepeatedBytes)
		}
	}
	for _, key := range all.keys {
		if sizes[nameOf(key.Value)].bytes > MaxKey {
			return fmt.Errorf("line %d: %w", key.GetToken().Position.Line, errLongKey)
		}
	}
	return nil
}

// nameOf is the name of an anchor as the decoder looks it up.
func nameOf(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

// outside is where nodes are that no anchor has.
const outside = -1

// anchors is what there is in a document to be repeated, and what repeats it. All is
// found in one pass, however deep anchors stand in each other.
type anchors struct {
	list    []anchored
	aliases []*ast.AliasNode
	// keys are the aliases that stand for a key.
	keys []*ast.AliasNode
	err  error
}

// anchored is a value with a name: what is in it, without the anchors in it.
type anchored struct {
	name         string
	in           int // the anchor around it
	nodes, bytes int
}

// within looks at what is in an anchor, or outside of all.
type within struct {
	*anchors
	in int
}

// Visit notes one node.
func (w within) Visit(node ast.Node) ast.Visitor {
	if w.in != outside {
		w.list[w.in].nodes++
		if t := node.GetToken(); t != nil {
			w.list[w.in].bytes += len(t.Value)
		}
	}
	switch n := node.(type) {
	case *ast.AnchorNode:
		w.list = append(w.list, anchored{name: nameOf(n.Name), in: w.in})
		return within{w.anchors, len(w.list) - 1}
	case *ast.AliasNode:
		if w.in != outside && w.err == nil {
			w.err = fmt.Errorf("line %d: an alias inside an anchor", n.GetToken().Position.Line)
		}
		w.aliases = append(w.aliases, n)
		return nil // its name is no value
	case *ast.MappingValueNode:
		if key, ok := n.Key.(*ast.AliasNode); ok {
			w.keys = append(w.keys, key)
		}
	}
	return w
}
