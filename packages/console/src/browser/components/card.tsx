import { useId, type ReactElement, type ReactNode } from 'react';

/** A framed part of a page with a heading. */
export function Card({
  title,
  description,
  actions,
  isFlush = false,
  children,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** The content reaches the frame, as a table does. */
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}): ReactElement {
  const id = useId();
  return (
    <section className="card" aria-labelledby={id}>
      <header className="card-header">
        <div>
          <h2 id={id}>{title}</h2>
          {description !== undefined && <p>{description}</p>}
        </div>
        {actions !== undefined && <div className="card-actions">{actions}</div>}
      </header>
      <div className={isFlush ? 'card-body card-body-flush' : 'card-body'}>{children}</div>
    </section>
  );
}
