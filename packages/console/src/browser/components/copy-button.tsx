import { useState, type ReactElement } from 'react';
import { Button } from './button.tsx';
import { IconButton } from './icon-button.tsx';

/** Copies a text; says so for a moment. With `children` it is a button with a text. */
export function CopyButton({
  text,
  label,
  children,
}: {
  readonly text: string | (() => Promise<string>);
  readonly label: string;
  readonly children?: string;
}): ReactElement {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : await text());
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 1500);
  };
  const icon = isCopied ? 'check' : 'copy';
  if (children !== undefined)
    return (
      <Button icon={icon} aria-label={label} onClick={() => void copy()}>
        {isCopied ? 'Copied' : children}
      </Button>
    );
  return <IconButton icon={icon} label={isCopied ? 'Copied' : label} onClick={() => void copy()} />;
}
