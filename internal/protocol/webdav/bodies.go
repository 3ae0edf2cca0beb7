package webdav

import (
	"encoding/xml"
	"io"
	"slices"
)

// Propfind is what a PROPFIND asks for.
type Propfind struct {
	// All asks for what there is, NamesOnly for the names of it. Else Props are asked
	// for; with All they are asked for besides.
	All, NamesOnly bool
	Props          []xml.Name
}

// Wants reports whether a property is asked for by name.
func (p Propfind) Wants(name xml.Name) bool { return slices.Contains(p.Props, name) }

// ParsePropfind reads the body of a PROPFIND; an empty one asks for all.
func ParsePropfind(body io.Reader) (Propfind, error) {
	root, err := Parse(body)
	if err != nil {
		return Propfind{}, err
	}
	if root == nil {
		return Propfind{All: true}, nil
	}
	if !root.Is("propfind") {
		return Propfind{}, malformed("the root is no propfind")
	}
	var p Propfind
	kinds := 0
	for _, e := range root.Children() {
		switch {
		case e.Is("allprop"):
			p.All, kinds = true, kinds+1
		case e.Is("propname"):
			p.NamesOnly, kinds = true, kinds+1
		case e.Is("prop"):
			kinds++
			fallthrough
		case e.Is("include"):
			for _, prop := range e.Children() {
				p.Props = append(p.Props, prop.Name)
			}
		}
	}
	if len(p.Props) > maxAsked {
		return Propfind{}, malformed("a propfind names at most %d properties", maxAsked)
	}
	if kinds != 1 {
		return Propfind{}, malformed("propfind has allprop, propname or prop, and one of them")
	}
	return p, nil
}

// Patch is one change of a property, in the order of the body.
type Patch struct {
	Remove bool
	Prop   *Element
}

// ParseProppatch reads the body of a PROPPATCH.
func ParseProppatch(body io.Reader) ([]Patch, error) {
	root, err := Parse(body)
	if err != nil {
		return nil, err
	}
	if root == nil || !root.Is("propertyupdate") {
		return nil, malformed("the root is no propertyupdate")
	}
	var all []Patch
	for _, e := range root.Children() {
		if !e.Is("set") && !e.Is("remove") {
			continue
		}
		prop := e.Child("prop")
		if prop == nil {
			return nil, malformed("%s without prop", e.Name.Local)
		}
		for _, p := range prop.Children() {
			all = append(all, Patch{Remove: e.Is("remove"), Prop: p})
		}
	}
	if len(all) == 0 {
		return nil, malformed("nothing to change")
	}
	return all, nil
}

// LockInfo is what a LOCK asks for.
type LockInfo struct {
	Shared bool
	// Owner is the content of the element owner, written to mean the same anywhere.
	Owner string
}

// ParseLock reads the body of a LOCK. It reports false when there is none: then a
// lock is to be refreshed.
func ParseLock(body io.Reader) (LockInfo, bool, error) {
	root, err := Parse(body)
	if err != nil || root == nil {
		return LockInfo{}, false, err
	}
	if !root.Is("lockinfo") {
		return LockInfo{}, false, malformed("the root is no lockinfo")
	}
	scope, kind := root.Child("lockscope"), root.Child("locktype")
	if scope == nil || kind == nil || kind.Child("write") == nil || (scope.Child("exclusive") == nil) == (scope.Child("shared") == nil) {
		return LockInfo{}, false, malformed("a lock is for writing, and exclusive or shared")
	}
	info := LockInfo{Shared: scope.Child("shared") != nil}
	if owner := root.Child("owner"); owner != nil {
		for _, n := range owner.Nodes {
			if n.Element != nil {
				info.Owner += n.Element.String()
				continue
			}
			info.Owner += Escape(n.Text)
		}
	}
	return info, true, nil
}
