package ussdtest

// FormMenu is a menu that asks for a form and keeps it.
const FormMenu = `name: Forms
languages: [en]
start: name
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables: {name: {max: 24}, acres: {max: 12}, born: {max: 12}, crop: {max: 12}, agreed: {max: 3}}
screens:
  name: {text: {en: "Name?"}, exit: true, input: {var: name, kind: name, max: 24, errors: {invalid: {en: Letters.}}, next: acres}}
  acres: {text: {en: "Acres?"}, back: name, input: {var: acres, kind: text, max: 12, errors: {invalid: {en: Short.}}, next: born}}
  born: {text: {en: "Born?"}, back: name, input: {var: born, kind: text, max: 12, errors: {invalid: {en: Short.}}, next: crop}}
  crop:
    text: {en: "Crop?"}
    back: name
    options:
      - {key: "1", label: {en: Maize}, set: {crop: maize}, next: agree}
      - {key: "2", label: {en: Beans}, set: {crop: beans}, next: agree}
  agree:
    text: {en: "May we keep it?"}
    options:
      - {key: "1", label: {en: "Yes"}, set: {agreed: "yes"}, next: keep}
      - {key: "2", label: {en: "No"}, set: {agreed: "no"}, next: keep}
  thanks: {end: true, text: {en: Thank you}}
  refused: {end: true, text: {en: Not kept}}
  bye: {end: true, text: {en: Goodbye}}
actions:
  keep: {run: storeForm, form: farm, on: {ok: thanks, refused: refused, invalid: name}}
forms:
  farm:
    consent: agreed
    notify: did:key:zowner
    fields:
      - {name: name, var: name, kind: text}
      - {name: acres, var: acres, kind: number}
      - {name: born, var: born, kind: date}
      - {name: crop, var: crop, kind: choice, choices: [maize, beans]}
`
