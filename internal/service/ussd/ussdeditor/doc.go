// Package ussdeditor is what an editor of telephone menus needs of the server: a text
// of menus as a tree that a page can show as forms, a tree as text again, what the
// check says and at which field, how large every screen gets, and a telephone on which
// a draft is tried.
//
// It promises that Format of a formatted text is the same text, that a tree says
// word for word what the text says (a text of which that is not so is handed out
// without one, to be edited as text), that comments above a field stay there, and that
// trying a draft touches nothing: no account, no session, no program. It stores
// nothing: menus are documents of package operatordoc, which says who published what.
// Whoever may look may send drafts, so what is made of one is bounded (maxText,
// maxComments, and what package yamlfile bounds), and work ends with its request
// between parts, screens and inputs.
package ussdeditor
