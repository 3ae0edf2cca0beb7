/** What went wrong, if anything did. */
export function Problem({ error }: { error: string }) {
  return error ? (
    <p role="alert" className="notice bad">
      {error}
    </p>
  ) : null;
}
