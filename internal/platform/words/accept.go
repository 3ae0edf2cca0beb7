package words

import "strings"

// What is read of a header: more than any browser sends.
const (
	maxHeader = 1000 // bytes
	maxRanges = 40
)

// Accepted is the language that a request likes best, by the quality values of RFC
// 9110; of equals the one that is named first. Without any it is otherwise.
func (b *Book) Accepted(header []string, otherwise *Language) *Language {
	best, most := otherwise, 0
	refused := map[string]bool{}
	others := false // whether any other language will do
	field := strings.Join(header, ",")
	if len(field) > maxHeader {
		field = field[:maxHeader]
		field = field[:max(strings.LastIndexByte(field, ','), 0)] // what was cut would say something else
	}
	read := 0
	for one := range strings.SplitSeq(field, ",") {
		if read++; read > maxRanges {
			break
		}
		tag, parameter, _ := strings.Cut(one, ";")
		quality, ok := qualityOf(parameter)
		tag = strings.TrimSpace(tag)
		if !ok || tag == "" {
			continue
		}
		if tag == "*" {
			others = quality > 0
			continue
		}
		l, known := b.Named(tag)
		switch {
		case !known:
		case quality == 0:
			if strings.EqualFold(tag, l.Code) { // "fr-CA;q=0" says nothing about French
				refused[l.Code] = true
			}
		case quality > most:
			best, most = l, quality
		}
	}
	if most == 0 && refused[otherwise.Code] && others {
		for _, l := range b.all {
			if !refused[l.Code] {
				return l
			}
		}
	}
	return best
}

// qualityOf reads "q=0.8" in thousandths; without it a range is worth all.
func qualityOf(parameter string) (int, bool) {
	parameter = strings.TrimSpace(parameter)
	if parameter == "" {
		return 1000, true
	}
	name, value, _ := strings.Cut(parameter, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return 0, false
	}
	whole, rest, _ := strings.Cut(strings.TrimSpace(value), ".")
	if whole != "0" && whole != "1" || len(rest) > 3 {
		return 0, false
	}
	quality := 0
	for i := range 3 {
		digit := 0
		if i < len(rest) {
			if digit = int(rest[i] - '0'); rest[i] < '0' || rest[i] > '9' {
				return 0, false
			}
		}
		quality = quality*10 + digit
	}
	if whole == "1" {
		return 1000, quality == 0
	}
	return quality, true
}
