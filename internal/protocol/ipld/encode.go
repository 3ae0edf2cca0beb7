package ipld

import (
	"encoding/binary"
	"slices"
)

// Equal compares canonical values by their one encoding.
func Equal(a, b Node) bool { return string(AppendCBOR(nil, a)) == string(AppendCBOR(nil, b)) }

// AppendCBOR appends the canonical dag-cbor encoding of n.
func AppendCBOR(dst []byte, n Node) []byte {
	switch n.Kind {
	case Bool:
		return append(dst, 0xf4+byte(n.Num&1))
	case Int:
		if n.Negative {
			return appendHead(dst, majorNegative, n.Num)
		}
		return appendHead(dst, majorUint, n.Num)
	case Float:
		dst = append(dst, majorSimple<<5|27)
		return binary.BigEndian.AppendUint64(dst, n.Num)
	case Text:
		return append(appendHead(dst, majorText, uint64(len(n.Str))), n.Str...)
	case Bytes:
		return append(appendHead(dst, majorBytes, uint64(len(n.Str))), n.Str...)
	case Link:
		dst = appendHead(dst, majorTag, tagLink)
		dst = appendHead(dst, majorBytes, uint64(len(n.Str)+1))
		return append(append(dst, 0), n.Str...)
	case List:
		dst = appendHead(dst, majorList, uint64(len(n.List)))
		for _, item := range n.List {
			dst = AppendCBOR(dst, item)
		}
		return dst
	case Map:
		dst = appendHead(dst, majorMap, uint64(len(n.Entries)))
		for _, e := range sorted(n.Entries, keyLess) {
			dst = append(appendHead(dst, majorText, uint64(len(e.Key))), e.Key...)
			dst = AppendCBOR(dst, e.Value)
		}
		return dst
	}
	return append(dst, 0xf6)
}

func appendHead(dst []byte, major byte, arg uint64) []byte {
	major <<= 5
	switch {
	case arg < 24:
		return append(dst, major|byte(arg))
	case arg < 1<<8:
		return append(dst, major|24, byte(arg))
	case arg < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(arg))
	case arg < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), arg)
}

// sorted returns the entries in the order of less; it copies only when they
// are not in that order already.
func sorted(entries []Entry, less func(a, b string) bool) []Entry {
	compare := func(a, b Entry) int {
		switch {
		case less(a.Key, b.Key):
			return -1
		case less(b.Key, a.Key):
			return 1
		}
		return 0
	}
	if slices.IsSortedFunc(entries, compare) {
		return entries
	}
	c := slices.Clone(entries)
	slices.SortFunc(c, compare)
	return c
}
