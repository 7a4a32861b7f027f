import type { ReactElement } from 'react';
import { CopyButton } from './copy-button.tsx';

/** The commands that do what the page or the button does. */
export function CommandBox({
  command,
  label = 'The same by kubectl',
}: {
  readonly command: string;
  readonly label?: string;
}): ReactElement {
  return (
    <div className="command-box">
      <div className="command-box-head">
        <span>{label}</span>
        <CopyButton text={command} label="Copy the command" />
      </div>
      {/* Scrolls by itself, so that it has to be reachable by the keyboard. */}
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{command}</code>
      </pre>
    </div>
  );
}
