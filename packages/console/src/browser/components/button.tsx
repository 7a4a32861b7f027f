import type { ButtonHTMLAttributes, ReactElement } from 'react';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly variant?: 'primary' | 'secondary' | 'ghost' | 'danger';
  readonly size?: 'small' | 'medium';
  readonly icon?: IconName;
  /** The action is under way; the button stays where it is and cannot be pressed again. */
  readonly isBusy?: boolean;
}

export function Button(props: ButtonProps): ReactElement {
  const { variant = 'secondary', size = 'medium', icon, isBusy = false, className = '', children, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${variant} button-${size} ${className}`}
      disabled={rest.disabled === true || isBusy}
      aria-busy={isBusy}
    >
      {isBusy ? <span className="spinner" aria-hidden="true" /> : icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}
