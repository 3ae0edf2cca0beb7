import { Hidden } from "./Hidden";

export interface SkeletonProps {
  lines?: number;
  /** What is about to be there, for those who do not see it. */
  label: string;
}

/** Grey lines where something is about to be: the page does not jump when it comes. */
export function Skeleton({ lines = 4, label }: SkeletonProps) {
  return (
    <div className="castalia-skeleton" role="status">
      <Hidden>{label}</Hidden>
      {Array.from({ length: lines }, (_, i) => (
        <i key={i} aria-hidden="true" />
      ))}
    </div>
  );
}
