export { OraclesProvider, renderMessageContent, useChat } from "../dist/index.js";
