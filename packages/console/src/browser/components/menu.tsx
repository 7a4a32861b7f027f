import { DropdownMenu } from 'radix-ui';
import type { ReactElement, ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

export interface MenuItem {
  readonly id: string;
  readonly label: string;
  readonly icon?: IconName;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  /** A check mark in front; the menu stays open when it is pressed. */
  readonly isChecked?: boolean;
  readonly onSelect: () => void;
}

/** A menu of actions behind a button. It is not moved to the end of the page: so it also works in a dialog, and stays in its landmark. */
export function Menu({
  trigger,
  heading,
  items,
  align = 'end',
}: {
  /** The button. */
  readonly trigger: ReactElement;
  readonly heading?: ReactNode;
  readonly items: readonly MenuItem[];
  readonly align?: 'start' | 'end';
}): ReactElement {
  return (
    // Not modal: what blocks scrolling would insert a style sheet of its own.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Content className="menu" align={align} sideOffset={6} collisionPadding={8}>
        {heading !== undefined && <DropdownMenu.Label className="menu-heading">{heading}</DropdownMenu.Label>}
        {items.map(({ id, label, icon, isDangerous, isDisabled, isChecked, onSelect }) =>
          isChecked === undefined ? (
            <DropdownMenu.Item
              key={id}
              className={isDangerous === true ? 'menu-item menu-item-danger' : 'menu-item'}
              disabled={isDisabled === true}
              onSelect={onSelect}
            >
              {icon !== undefined && <Icon name={icon} />}
              {label}
            </DropdownMenu.Item>
          ) : (
            <DropdownMenu.CheckboxItem
              key={id}
              className="menu-item"
              checked={isChecked}
              onSelect={(event) => event.preventDefault()}
              onCheckedChange={onSelect}
            >
              <span className="menu-check">{isChecked && <Icon name="check" />}</span>
              {label}
            </DropdownMenu.CheckboxItem>
          ),
        )}
      </DropdownMenu.Content>
    </DropdownMenu.Root>
  );
}
