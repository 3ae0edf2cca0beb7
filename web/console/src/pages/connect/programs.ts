import { say } from "../../words";

export interface Program {
  name: string;
  /** What to do in the program. */
  how: string;
  /** What to copy, with the address and the key filled in. */
  text: (origin: string, key: string) => string;
}

const openaiEnvironment = (origin: string, key: string) =>
  `OPENAI_BASE_URL=${origin}/v1\nOPENAI_API_KEY=${key}`;

/** Programs that talk to an oracle as it is, and what each has to be told. */
export const programs = (): Program[] => [
  {
    name: "Open WebUI",
    how: say("connect.openWebUiHow"),
    text: (origin, key) =>
      `OPENAI_API_BASE_URL=${origin}/v1\nOPENAI_API_KEY=${key}\nENABLE_FORWARD_USER_INFO_HEADERS=true`,
  },
  {
    name: "LibreChat",
    how: say("connect.libreChatHow"),
    text: (origin, key) =>
      [
        "endpoints:",
        "  custom:",
        '    - name: "Oracle"',
        `      apiKey: "${key}"`,
        `      baseURL: "${origin}/v1"`,
        '      models: { default: ["oracle"], fetch: true }',
        "      titleConvo: true",
        '      titleModel: "oracle-small"',
      ].join("\n"),
  },
  {
    name: say("connect.javaScript"),
    how: say("connect.javaScriptHow"),
    text: (origin, key) =>
      [
        'import OpenAI from "openai";',
        `const client = new OpenAI({ baseURL: "${origin}/v1", apiKey: "${key}" });`,
        "const answer = await client.chat.completions.create({",
        '  model: "oracle",',
        '  messages: [{ role: "user", content: "What can you do?" }],',
        "});",
        "console.log(answer.choices[0].message.content);",
      ].join("\n"),
  },
  {
    name: say("connect.python"),
    how: say("connect.pythonHow"),
    text: (origin, key) =>
      [
        "from openai import OpenAI",
        `client = OpenAI(base_url="${origin}/v1", api_key="${key}")`,
        "answer = client.chat.completions.create(",
        '    model="oracle",',
        '    messages=[{"role": "user", "content": "What can you do?"}],',
        ")",
        "print(answer.choices[0].message.content)",
      ].join("\n"),
  },
  {
    name: say("connect.goLanguage"),
    how: say("connect.goLanguageHow"),
    text: (origin, key) =>
      [
        "client := openai.NewClient(",
        `\toption.WithBaseURL("${origin}/v1/"),`,
        `\toption.WithAPIKey("${key}"),`,
        ")",
      ].join("\n"),
  },
  {
    name: "AI SDK",
    how: say("connect.aiSdkHow"),
    text: (origin, key) =>
      [
        'import { createOpenAICompatible } from "@ai-sdk/openai-compatible";',
        "const oracle = createOpenAICompatible({",
        '  name: "oracle",',
        `  baseURL: "${origin}/v1",`,
        `  apiKey: "${key}",`,
        '})("oracle");',
      ].join("\n"),
  },
  {
    name: "Continue",
    how: say("connect.continueHow"),
    text: (origin, key) =>
      [
        "models:",
        "  - name: Oracle",
        "    provider: openai",
        "    model: oracle",
        `    apiBase: ${origin}/v1`,
        `    apiKey: ${key}`,
      ].join("\n"),
  },
  {
    name: say("connect.editors"),
    how: say("connect.editorsHow"),
    text: openaiEnvironment,
  },
  {
    name: say("connect.environment"),
    how: say("connect.environmentHow"),
    text: openaiEnvironment,
  },
  {
    name: "curl",
    how: say("connect.curlHow"),
    text: (origin, key) =>
      [
        `curl -sN ${origin}/v1/chat/completions \\`,
        `  -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" \\`,
        `  -d '{"model":"oracle","stream":true,"messages":[{"role":"user","content":"What can you do?"}]}'`,
      ].join("\n"),
  },
];
