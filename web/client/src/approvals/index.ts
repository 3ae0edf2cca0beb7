/**
 * Calls of tools that wait for the user's yes, apart from the main entry.
 *
 * @packageDocumentation
 */
export {
  useApprovals,
  type IApproval,
  type IApprovalQuestion,
  type IFormField,
  type UseApprovalsOptions,
  type UseApprovalsResult,
} from "./useApprovals";
