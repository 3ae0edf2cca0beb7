/** Something is under way. */
export function Dots() {
  return (
    <span className="castalia-dots" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  );
}
