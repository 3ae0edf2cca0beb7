package ussdpin

// Weak reports whether a PIN is among those that a guesser tries first: one
// digit repeated, a run upwards or downwards, two or three digits repeated, two
// runs of one digit (11222), or a mirror (12321).
func Weak(pin string) bool {
	if len(pin) < 4 {
		return true
	}
	up, down, mirror := true, true, true
	for i := range len(pin) {
		if i > 0 {
			up = up && (pin[i] == pin[i-1]+1 || pin[i-1] == '9' && pin[i] == '0')
			down = down && (pin[i]+1 == pin[i-1] || pin[i-1] == '0' && pin[i] == '9')
		}
		mirror = mirror && pin[i] == pin[len(pin)-1-i]
	}
	return up || down || mirror || periodic(pin, 1) || periodic(pin, 2) || periodic(pin, 3) || halves(pin)
}

func periodic(s string, n int) bool {
	if len(s) <= n+1 && n > 1 {
		return false
	}
	for i := n; i < len(s); i++ {
		if s[i] != s[i-n] {
			return false
		}
	}
	return true
}

// halves reports two runs of one digit each, such as 11122.
func halves(s string) bool {
	changes := 0
	for i := 1; i < len(s); i++ {
		if s[i] != s[i-1] {
			changes++
		}
	}
	return changes <= 1
}
