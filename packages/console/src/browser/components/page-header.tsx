import { useEffect, type ReactElement, type ReactNode } from 'react';

/** The top of a page, and the title of the window: what it is, a sentence about it, and its main actions. */
export function PageHeader({
  title,
  description,
  badge,
  actions,
  above,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly badge?: ReactNode;
  readonly actions?: ReactNode;
  readonly above?: ReactNode;
}): ReactElement {
  useEffect(() => {
    document.title = `${title} · Multiplane`;
  }, [title]);
  return (
    <header className="page-header">
      {above !== undefined && <div className="page-header-above">{above}</div>}
      <div className="page-header-row">
        <div className="page-header-text">
          <h1>
            {title} {badge}
          </h1>
          {description !== undefined && <p>{description}</p>}
        </div>
        {actions !== undefined && <div className="page-header-actions">{actions}</div>}
      </div>
    </header>
  );
}
