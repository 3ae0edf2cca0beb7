package ussdmenu

// Transliterate rewrites s in the GSM alphabet.
func Transliterate(s string) string {
	s, _ = transliterate(s)
	return s
}
