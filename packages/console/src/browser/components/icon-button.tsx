import type { ButtonHTMLAttributes, ReactElement } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon: IconName;
  /** What it does; also shown when the pointer rests on it. */
  readonly label: string;
}

export function IconButton({ icon, label, className = '', ...rest }: IconButtonProps): ReactElement {
  return (
    <button type="button" aria-label={label} title={label} {...rest} className={`icon-button ${className}`}>
      <Icon name={icon} />
    </button>
  );
}
