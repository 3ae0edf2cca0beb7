package office

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/service/knowledge/document/packed"
)

// numberKind is how a number is shown.
type numberKind uint8

const (
	plainNumber numberKind = iota
	dateNumber
	clockNumber
	dateTimeNumber
	percentNumber
)

// formats knows how the styles of a workbook show numbers.
type formats struct {
	styles   []numberKind
	from1904 bool
}

// readFormats reads them from the styles; without it, numbers are plain.
func readFormats(a *packed.Archive, part string, depth int) formats {
	var f formats
	data, err := a.Read(part)
	if err != nil {
		return f
	}
	own := map[int]numberKind{}
	inside := false // the formats of cells, not those of styles that they come from
	for s := packed.Scan(data, depth); ; {
		more, err := s.Next()
		if err != nil || !more {
			return f
		}
		id, _ := strconv.Atoi(s.Attr("numFmtId"))
		switch s.Start() {
		case "numFmt":
			own[id] = codeKind(s.Attr("formatCode"))
		case "cellXfs":
			inside = true
		case "xf":
			if kind, ok := own[id]; inside && ok {
				f.styles = append(f.styles, kind)
			} else if inside {
				f.styles = append(f.styles, builtIn(id))
			}
		}
		if s.End() == "cellXfs" {
			inside = false
		}
	}
}

// builtIn is the kind of the formats that have numbers only.
func builtIn(id int) numberKind {
	switch {
	case id == 9 || id == 10:
		return percentNumber
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id >= 50 && id <= 58, id == 36:
		return dateNumber
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id >= 45 && id <= 47:
		return clockNumber
	case id == 22:
		return dateTimeNumber
	}
	return plainNumber
}

// codeKind is the kind of a format that is written out, such as dd/mm/yyyy.
func codeKind(code string) numberKind {
	var letters strings.Builder
	quoted, bracket := false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case c == ';':
			i = len(code) // the format of negative numbers
		case !bracket:
			letters.WriteByte(c | 0x20)
		}
	}
	text := letters.String()
	date, clock := strings.ContainsAny(text, "yd"), strings.ContainsAny(text, "hs")
	switch {
	case strings.ContainsAny(text, "0#?") && strings.Contains(text, "%"):
		return percentNumber
	case strings.ContainsAny(text, "0#?") && !date && !clock, strings.Contains(text, "general"):
		return plainNumber
	case date && clock:
		return dateTimeNumber
	case clock:
		return clockNumber
	case date, strings.Contains(text, "mmm"):
		return dateNumber
	}
	return plainNumber
}

// show is a number as people read it: dates as 2026-11-16, whatever their format.
func (f formats) show(value, style string) string {
	number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return value
	}
	kind := plainNumber
	if n, err := strconv.Atoi(style); err == nil && n >= 0 && n < len(f.styles) {
		kind = f.styles[n]
	}
	if kind == percentNumber {
		return plainDecimal(number*100) + "%"
	}
	if kind == plainNumber || number < 0 || number >= 2958466 { // the year 10000
		return plainDecimal(number)
	}
	start := time.Date(1899, time.December, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case f.from1904:
		start = time.Date(1904, time.January, 1, 0, 0, 0, 0, time.UTC)
	case number < 60: // before the day in 1900 that never was
		start = start.AddDate(0, 0, 1)
	}
	days := math.Floor(number)
	at := start.AddDate(0, 0, int(days)).Add(time.Duration(math.Round((number-days)*86400)) * time.Second)
	clock := "15:04"
	if at.Second() != 0 {
		clock = "15:04:05"
	}
	switch {
	case kind == clockNumber:
		return at.Format(clock)
	case kind == dateTimeNumber && number != days:
		return at.Format("2006-01-02 " + clock)
	}
	return at.Format("2006-01-02")
}

// plainDecimal writes a number with the digits that its cell has, and no more.
func plainDecimal(number float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 15, 64), 64)
	if err != nil {
		rounded = number
	}
	if size := math.Abs(rounded); size >= 1e15 || size > 0 && size < 1e-9 {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
