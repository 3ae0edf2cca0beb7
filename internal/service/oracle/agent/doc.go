// Package agent is the turn loop: a model, its tool calls, the model again,
// until it answers.
//
// It promises that every call it makes gets exactly one result (an error, a
// refusal or "outcome unknown" are results too), that tools run in parallel
// within their time and output limits, that arguments are checked against the
// tool's schema before it runs, that a model which repeats itself is stopped,
// and that the last step always answers, if need be without tools. What a step
// did is reported before anything that cannot be undone is done, so that the
// turn can be continued elsewhere: tools that are not marked safe are never run
// twice. It knows nothing of storage, transport or sessions.
package agent
