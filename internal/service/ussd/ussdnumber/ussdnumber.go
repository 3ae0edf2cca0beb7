// Package ussdnumber reads telephone numbers and service codes.
//
// It promises one spelling for each: a number is + and digits (E.164), a code is
// digits between * and #. What gateways write in other ways becomes that, or
// nothing that is valid. It refuses to keep what somebody may have dialled behind
// a code: that can be a PIN.
package ussdnumber

import "strings"

// MaxCode bounds a service code: what fits into one message can be dialled.
const MaxCode = 182

// ValidPhone reports whether s is an E.164 number: + and 2 to 15 digits that do
// not start with 0.
func ValidPhone(s string) bool {
	if len(s) < 3 || len(s) > 16 || s[0] != '+' || s[1] == '0' {
		return false
	}
	return digits(s[1:])
}

// ValidServiceCode reports whether s looks like *123# or *123*45#.
func ValidServiceCode(s string) bool {
	if len(s) < 3 || len(s) > MaxCode || s[0] != '*' || s[len(s)-1] != '#' {
		return false
	}
	for part := range strings.SplitSeq(s[1:len(s)-1], "*") {
		if !digits(part) {
			return false
		}
	}
	return true
}

// KeptCode is a service code as it is kept and shown. Some gateways call
// everything that was dialled the code, and *2233*2*1*48213# may end with a PIN:
// of what could be one, behind the first part, only dots are left.
func KeptCode(code string) string {
	if strings.LastIndexByte(code, '*') <= 0 {
		return code // as most are
	}
	parts := strings.Split(strings.Trim(code, "*#"), "*")
	for i, part := range parts {
		if i > 0 && len(part) >= shortestPIN {
			parts[i] = "••••"
		}
	}
	return "*" + strings.Join(parts, "*") + "#"
}

// shortestPIN is how many digits a number needs to be taken for a PIN.
const shortestPIN = 4

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// E164 adds the plus sign that some gateways leave out.
func E164(number string) string {
	number = strings.TrimSpace(number)
	number = strings.TrimPrefix(number, "00")
	if number != "" && number[0] != '+' {
		return "+" + number
	}
	return number
}

// NoCode stands for the service code where a gateway does not say it.
const NoCode = "*0#"

// ServiceCode writes a gateway's code as *digits#.
func ServiceCode(code string) string {
	code = strings.Trim(strings.TrimSpace(code), "*#")
	if code == "" {
		return NoCode
	}
	return "*" + code + "#"
}

// Dialled cuts what was dialled into the service code and the inputs after it:
// *714*1*2# with the code 714 is *714# and 1*2; without a code it is *714#.
func Dialled(text, code string) (service, inputs string) {
	service = ServiceCode(code)
	inner := strings.Trim(strings.TrimSpace(text), "#")
	if !strings.HasPrefix(inner, "*") {
		return service, ""
	}
	base := strings.TrimSuffix(service, "#")
	if service == NoCode {
		// Nobody says what of it is the code and what was typed behind it, which
		// may be a PIN; codes are kept and shown.
		first, _, _ := strings.Cut(inner[1:], "*")
		return ServiceCode(first), ""
	}
	rest, ok := strings.CutPrefix(inner, base+"*")
	if !ok {
		return service, ""
	}
	return service, rest
}
