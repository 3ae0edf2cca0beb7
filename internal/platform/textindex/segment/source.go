package segment

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Cache holds pages of segments that were read lately. Several segments share
// one, so that memory has one bound. It is safe for concurrent use.
type Cache struct {
	mu sync.Mutex
	// unit is how many pages are read and kept together.
	unit  uint64
	most  int // units
	pages map[pageName]*page
	// clock goes round over the pages and drops those not used since.
	clock []pageName
	hand  int
}

// pageName names the pages of a unit.
type pageName struct {
	of     *pagedSource
	number uint32
}

type page struct {
	data []byte
	used bool
}

// NewCache returns a cache of at most this many bytes, at least a megabyte.
func NewCache(bytes int) *Cache { return newCache(bytes, 1) }

// joinUnit is a piece of a sealed object: whoever reads one page of it has opened all.
const joinUnit = 4

// NewJoinCache is NewCache for whoever reads segments from end to end: a page comes
// with its neighbours, which are wanted next.
func NewJoinCache(bytes int) *Cache { return newCache(bytes, joinUnit) }

func newCache(bytes int, unit uint64) *Cache {
	//nolint:gosec // a few
	return &Cache{unit: unit, most: max(bytes, 1<<20) / (int(unit) * pageSize), pages: make(map[pageName]*page)}
}

func (c *Cache) get(name pageName) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pages[name]
	if p == nil {
		return nil
	}
	p.used = true
	return p.data
}

func (c *Cache) put(name pageName, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages[name] != nil {
		return
	}
	c.pages[name] = &page{data: data}
	if len(c.clock) < c.most {
		c.clock = append(c.clock, name)
		return
	}
	for {
		old := c.pages[c.clock[c.hand]]
		if !old.used {
			delete(c.pages, c.clock[c.hand])
			c.clock[c.hand] = name
			c.hand = (c.hand + 1) % len(c.clock)
			return
		}
		old.used = false
		c.hand = (c.hand + 1) % len(c.clock)
	}
}

// source gives bytes of a segment whose checksums were held. What it returns is
// not to be changed.
type source interface {
	slice(offset, length uint64) ([]byte, error)
}

// memorySource is a segment that is in memory and was checked as a whole.
type memorySource []byte

func (m memorySource) slice(offset, length uint64) ([]byte, error) {
	if offset > uint64(len(m)) || length > uint64(len(m))-offset {
		return nil, corrupt("it points outside of itself")
	}
	return m[offset : offset+length : offset+length], nil
}

// pagedSource reads a segment by pages and checks each as it comes in.
type pagedSource struct {
	from  io.ReaderAt
	size  uint64 // of all pages
	sums  []byte // four bytes per page
	cache *Cache
}

func (p *pagedSource) page(number uint64) ([]byte, error) {
	if number >= uint64(len(p.sums)/4) {
		return nil, corrupt("it points outside of itself")
	}
	first := number - number%p.cache.unit
	name := pageName{p, uint32(first)} //nolint:gosec // checked against the number of sums above
	data := p.cache.get(name)
	if data == nil {
		var err error
		if data, err = p.read(first); err != nil {
			return nil, err
		}
		p.cache.put(name, data)
	}
	begin := (number - first) * pageSize
	return data[begin:min(begin+pageSize, uint64(len(data)))], nil
}

// read reads the pages of a unit and checks each.
func (p *pagedSource) read(first uint64) ([]byte, error) {
	begin := first * pageSize
	data := make([]byte, min(p.cache.unit*pageSize, p.size-begin))
	if n, err := p.from.ReadAt(data, int64(begin)); n < len(data) { //nolint:gosec // sizes come from an int64
		return nil, fmt.Errorf("read page %d of a search segment: %w", first, err)
	}
	number := first
	for page := range slices.Chunk(data, pageSize) {
		if checksum(page) != binary.LittleEndian.Uint32(p.sums[4*number:]) {
			return nil, corrupt(fmt.Sprintf("page %d does not have its checksum", number))
		}
		number++
	}
	return data, nil
}

func (p *pagedSource) slice(offset, length uint64) ([]byte, error) {
	if offset > p.size || length > p.size-offset {
		return nil, corrupt("it points outside of itself")
	}
	if length == 0 {
		return nil, nil
	}
	first, last := offset/pageSize, (offset+length-1)/pageSize
	begin := offset - first*pageSize
	data, err := p.page(first)
	if err != nil {
		return nil, err
	}
	if first == last {
		return data[begin : begin+length : begin+length], nil
	}
	out := make([]byte, 0, length)
	out = append(out, data[begin:]...)
	for number := first + 1; number <= last; number++ {
		if data, err = p.page(number); err != nil {
			return nil, err
		}
		out = append(out, data[:min(uint64(len(data)), length-uint64(len(out)))]...)
	}
	return out, nil
}
