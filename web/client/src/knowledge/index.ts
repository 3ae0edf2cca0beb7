/**
 * Answers from the community's own documents, and the collections that hold them,
 * apart from the main entry.
 *
 * @packageDocumentation
 */
export type { FileToken } from "../files/bearer";
export type {
  IAnswer,
  ICollection,
  IDocument,
  IHit,
  IPassage,
  IQuestion,
  ISource,
  Readers,
} from "./types";
export {
  useCollections,
  type NewCollection,
  type UseCollectionsOptions,
  type UseCollectionsResult,
} from "./useCollections";
export {
  useKnowledge,
  type AskOptions,
  type UseKnowledgeOptions,
  type UseKnowledgeResult,
} from "./useKnowledge";
export {
  useQuestions,
  type SendOptions,
  type UseQuestionsOptions,
  type UseQuestionsResult,
} from "./useQuestions";
