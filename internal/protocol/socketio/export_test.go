package socketio

// The scanner, for the test against encoding/json.
var (
	ValidJSON  = validJSON
	SplitArray = splitArray
)
