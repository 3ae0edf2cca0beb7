package ussdtest

import "strings"

// HookMenu is a menu that asks a program for a price and tells it of an order. The
// endpoint is that of both.
func HookMenu(endpoint string) []byte {
	return []byte(strings.ReplaceAll(hookMenu, "ENDPOINT", endpoint))
}

// HookEndpoint is the id of an endpoint that is nobody's.
const HookEndpoint = "ep_AAAAAAAAAAAAAAAAAAAAAAAAAA"

const hookMenu = `name: Hooks
languages: [en]
start: crop
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {crop: {max: 12}, bags: {max: 4}, price: {max: 8}, why: {max: 40}}
screens:
  crop: {text: {en: "Welcome. Crop?"}, exit: true, input: {var: crop, kind: name, max: 12, errors: {invalid: {en: Letters.}}, next: ask}}
  bags: {text: {en: "{{crop}} is {{price}}. Bags?"}, back: crop, input: {var: bags, kind: digits, max: 4, errors: {invalid: {en: Digits.}}, next: tell}}
  none: {text: {en: "No price. {{price}}"}, back: crop}
  refused: {end: true, text: {en: "Refused: {{why}}"}}
  promised: {end: true, text: {en: "We have your order"}}
  done: {end: true, text: {en: "Ordered"}}
  failed: {end: true, text: {en: "Not ordered"}}
  bye: {end: true, text: {en: Goodbye}}
actions:
  ask: {run: callWebhook, webhook: price, on: {ok: bags, refused: none, promised: none, failed: none}}
  tell: {run: callWebhook, webhook: order, on: {ok: done, refused: refused, promised: promised, failed: failed}}
webhooks:
  price: {endpoint: ENDPOINT, send: [crop], take: [price], once: true}
  order: {endpoint: ENDPOINT, send: [crop, bags], take: [why]}
`
