package socketio

import "encoding/json"

// ValidJSON is the scanner, for the test against encoding/json.
var ValidJSON = validJSON

// SplitArray is the other half of it.
func SplitArray(data []byte) ([]json.RawMessage, bool) { return splitArray(data, maxArgs) }
