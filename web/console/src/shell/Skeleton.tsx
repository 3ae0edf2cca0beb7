/** Grey lines where something is about to be: the page does not jump when it comes. */
export function Skeleton({ lines = 4, label }: { lines?: number; label: string }) {
  return (
    <div className="skeleton" role="status">
      <span className="visually-hidden">{label}</span>
      {Array.from({ length: lines }, (_, i) => (
        <i key={i} aria-hidden="true" />
      ))}
    </div>
  );
}
