/**
 * Components of a chat with an oracle. Their looks are in `styles.css`, their words in `Labels`.
 * Decision: ADR 0249.
 *
 * @module
 */
export { Approval, Approvals, type ApprovalProps, type ApprovalsProps } from "./Approval";
export { Question, type QuestionProps } from "./Question";
export { CallButton, type CallButtonProps } from "./CallButton";
export { Composer, type ComposerProps } from "./Composer";
export {
  english,
  LabelsProvider,
  useLabels,
  type Labels,
  type LabelsProviderProps,
} from "./labels";
export { Citation, type CitationProps } from "./message/Citation";
export { Message, type MessageProps } from "./message/Message";
export type { MessageActs } from "./message/MessageTools";
export { ToolCard, type ToolCardProps } from "./message/ToolCard";
export { SessionList, type SessionListProps } from "./sessions/SessionList";
export { titleOf } from "./sessions/sessions";
export { Thread, type ThreadProps } from "./thread/Thread";
export { useFileDrop, type FileDrop } from "./useFileDrop";
