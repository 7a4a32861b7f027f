import type { ReactElement, ReactNode } from 'react';
import type { Tone } from '../model/tone.ts';
import { Icon } from './icon.tsx';

/** A message within a page. */
export function Notice({
  tone,
  title,
  children,
  action,
}: {
  readonly tone: Tone;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}): ReactElement {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : tone === 'good' ? 'check' : 'info'} />
      <div className="notice-text">
        <strong>{title}</strong>
        {children !== undefined && <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}
