package plugin

import "encoding/json"

// Ask is what a tool asks the person in the course of a call.
type Ask struct {
	// From names who asks, where that is not the program itself.
	From    string `json:"from,omitempty"`
	Message string `json:"message"`
	// Form says what is asked for: a JSON Schema of an object whose members are texts,
	// numbers, yes or no, or choices. It must not ask for passwords or PINs.
	Form json.RawMessage `json:"form"`
	// State is the tool's own: it comes back with the answer, and nobody else sees it.
	State json.RawMessage `json:"state,omitempty"`
}

// AskError ends a call that cannot go on before the person has answered. The turn then
// rests, over restarts too; when the answer has come the tool is called again, with
// Runtime.Answered. So a tool asks before it does anything that must not be done twice.
type AskError struct{ Ask Ask }

// Error says what is asked for.
func (e *AskError) Error() string { return "the tool asks: " + e.Ask.Message }

// Answered is what the person said.
type Answered struct {
	Ask Ask
	// Content fits the form of what was asked.
	Content json.RawMessage
}
