// Package ussdmenu reads USSD menus and says where an input leads.
//
// A menu is a YAML file: screens with their texts in every language, options,
// inputs with validation, guards, actions and their outcomes. Parse reads one
// and Check refuses it, with the file's line, when it could ever leave a user
// stuck or cut a text: an unknown target, a screen that nothing reaches, a dead
// end, a key used twice, a missing translation, a screen that can exceed one
// USSD message and is not paged.
//
// The machine is pure. Step takes a State and one input and returns the next
// State, or the Call of an action that the caller runs before it goes on with
// Resolve. Render turns a State into the text of a screen. Nothing here does
// I/O, knows the time or keeps anything between calls, so the same State and
// input give the same answer on every node.
//
// A check is bounded, whatever the text makes of a little (Work): whoever may look at
// operators' pages sends drafts.
//
// Values that a user typed are data: they are clipped to the size that their
// variable declares and stripped of control characters, and are never read as
// part of a template. Decision: ADR 0047.
package ussdmenu
