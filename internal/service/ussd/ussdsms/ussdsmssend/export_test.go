package ussdsmssend

// For fuzzing.
var (
	ReadTwilio         = readTwilio
	ReadAfricasTalking = readAfricasTalking
)
