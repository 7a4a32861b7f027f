import type { ReactElement, ReactNode } from 'react';
import type { Tone } from '../model/tone.ts';

/** A state in a word. The dot carries the colour, the word the meaning. */
export function Badge({
  tone = 'neutral',
  title,
  children,
}: {
  readonly tone?: Tone;
  readonly title?: string | undefined;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <span className={`badge badge-${tone}`} title={title}>
      <span className="badge-dot" aria-hidden="true" />
      {children}
    </span>
  );
}
