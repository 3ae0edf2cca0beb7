// What people read is in languages/*.json and said by say() or <Say>. These rules refuse text
// in the code, a say() that is called before the words of its page are there, and numbers and
// dates that are written the English way for everybody.

const attributes =
  /^(alt|title|label|placeholder|aria-(label|description|placeholder|roledescription|valuetext))$/;
const name = "Castalia";

const isWord = (text) => /\p{L}{2}/u.test(text.replaceAll(name, ""));
/** Begins as a sentence does: nothing else in a program has such a string. */
const isSentence = (text) => /^(?!Bearer )\p{Lu}[\p{L}'’]* \p{Ll}/u.test(text);

/** The texts that an expression may come out as. */
function texts(node) {
  switch (node?.type) {
    case "Literal":
      return typeof node.value === "string" ? [node] : [];
    case "TemplateLiteral":
      return [node];
    case "ConditionalExpression":
      return [...texts(node.consequent), ...texts(node.alternate)];
    case "LogicalExpression":
      return [...texts(node.left), ...texts(node.right)];
    case "JSXExpressionContainer":
      return texts(node.expression);
    default:
      return [];
  }
}

const textOf = (node) =>
  node.type === "TemplateLiteral" ? node.quasis.map((q) => q.value.cooked).join("") : node.value;

const text = {
  meta: {
    type: "problem",
    messages: {
      text: 'Text in the code: put it into languages/en.json and use say("area.key") or <Say>.',
    },
  },
  create(context) {
    const refused = new Set();
    const refuse = (node) => {
      if (!refused.has(node)) context.report({ node, messageId: "text" });
      refused.add(node);
    };
    const refuseWords = (value) => {
      for (const node of texts(value)) if (isWord(textOf(node))) refuse(node);
    };
    return {
      JSXText: (node) => isWord(node.value) && refuse(node),
      JSXAttribute(node) {
        if (attributes.test(node.name.name)) refuseWords(node.value);
      },
      "JSXElement > JSXExpressionContainer": refuseWords,
      "JSXFragment > JSXExpressionContainer": refuseWords,
      Literal: (node) => typeof node.value === "string" && isSentence(node.value) && refuse(node),
      TemplateLiteral: (node) =>
        isSentence(node.quasis.map((q) => q.value.cooked).join("x")) && refuse(node),
    };
  },
};

const functions = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

const inside = {
  meta: {
    type: "problem",
    messages: {
      outside:
        "say() while a module is loaded: its words are not there yet. Keep the Key, and say it where it is shown.",
    },
  },
  create(context) {
    return {
      "CallExpression[callee.name='say']"(node) {
        const around = context.sourceCode.getAncestors(node);
        if (!around.some((n) => functions.test(n.type)))
          context.report({ node, messageId: "outside" });
      },
    };
  },
};

const locale = {
  meta: {
    type: "problem",
    messages: {
      fixed:
        "Numbers and dates are written as in the reader's language: use shell/format, or localeNow().",
    },
  },
  create(context) {
    const look = (node) => {
      const [first] = node.arguments;
      const language = first?.type === "ArrayExpression" ? first.elements[0] : first;
      if (language?.type === "Literal") context.report({ node, messageId: "fixed" });
    };
    return {
      "CallExpression[callee.property.name=/^toLocale/]": (node) =>
        node.arguments.length === 0 ? context.report({ node, messageId: "fixed" }) : look(node),
      "NewExpression[callee.object.name='Intl']": look,
    };
  },
};

export default { rules: { text, inside, locale } };
