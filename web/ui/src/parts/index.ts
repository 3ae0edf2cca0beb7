/**
 * What the components are made of, for pages that draw things of their own beside them.
 *
 * @module
 */
export { messageOf } from "../labels";
export { Markdown, type MarkdownProps } from "../markdown/Markdown";
export { Boundary, type BoundaryProps } from "./Boundary";
export { CopyButton, type CopyButtonProps } from "./CopyButton";
export { Icon, iconPaths, type IconName } from "./Icon";
export { markedAnywhere, type MarkedPart } from "./marked";
export { Skeleton, type SkeletonProps } from "./Skeleton";
