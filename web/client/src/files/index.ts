/**
 * The user's files at the oracle, apart from the main entry.
 *
 * @packageDocumentation
 */
export type { FileToken } from "./bearer";
export { uploadFile, type FileStore, type IStoredFile } from "./upload";
export {
  useFiles,
  type IFileNode,
  type IUpload,
  type UseFilesOptions,
  type UseFilesResult,
} from "./useFiles";
