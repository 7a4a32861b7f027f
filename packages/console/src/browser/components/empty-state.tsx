import type { ReactElement, ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  /** What belongs here, and why one would want it. */
  readonly children: ReactNode;
  /** It is the whole page. */
  readonly isPage?: boolean;
  /** The first step. */
  readonly action?: ReactNode;
}

export function EmptyState({ icon, title, children, isPage = false, action }: EmptyStateProps): ReactElement {
  return (
    <div className="empty-state">
      <span className="empty-state-icon">
        <Icon name={icon} size={24} />
      </span>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      <div className="empty-state-text">{children}</div>
      {action !== undefined && <div className="empty-state-action">{action}</div>}
    </div>
  );
}
