/**
 * Files for messages: put into the user's store and sent by their content, apart
 * from the main entry.
 *
 * @packageDocumentation
 */
export type { FileToken } from "../files/bearer";
export {
  forgetUpload,
  uploadFile,
  type FileStore,
  type IStoredFile,
  type UploadOptions,
} from "../files/upload";
export {
  useAttachments,
  type Attached,
  type UseAttachmentsOptions,
  type UseAttachmentsResult,
} from "./useAttachments";
