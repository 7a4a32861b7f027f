import type { ReactElement } from 'react';

/** Grey bars where content will be. */
export function Loading({
  label = 'Loading',
  rows = 6,
}: {
  readonly label?: string;
  readonly rows?: number;
}): ReactElement {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{label}</span>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} className="skeleton" aria-hidden="true" />
      ))}
    </div>
  );
}
