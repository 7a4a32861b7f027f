import type { ReactElement } from 'react';
import { Icon, type IconName } from '../components/icon.tsx';
import { Menu } from '../components/menu.tsx';
import { useToast } from '../components/toast.tsx';
import { useApp } from '../hooks/app-context.ts';
import { useTheme, type Theme } from '../hooks/use-theme.ts';
import { logOut } from '../session/session.ts';

const themes: readonly { readonly theme: Theme; readonly label: string; readonly icon: IconName }[] = [
  { theme: 'system', label: 'Theme of the system', icon: 'monitor' },
  { theme: 'light', label: 'Light theme', icon: 'sun' },
  { theme: 'dark', label: 'Dark theme', icon: 'moon' },
];

/** Who is logged in, the theme, and the way out. */
export function UserMenu(): ReactElement {
  const { api, session } = useApp();
  const toast = useToast();
  const [current, setTheme] = useTheme();
  const leave = async (): Promise<void> => {
    try {
      await logOut(api);
    } catch (error) {
      toast({ tone: 'bad', title: 'You are not logged out', text: (error as Error).message });
    }
  };
  const { name, groups } = session.user;
  return (
    <Menu
      trigger={
        <button type="button" className="user-button" aria-label={`User ${name}`}>
          <Icon name="user" />
          <span>{name}</span>
        </button>
      }
      heading={
        <>
          <strong>{name}</strong>
          <span>{groups.join(', ')}</span>
          <span>Session until {new Date(session.expiresAt).toLocaleString()}</span>
        </>
      }
      items={[
        ...themes.map(({ theme, label }) => ({
          id: theme,
          label,
          isChecked: theme === current,
          onSelect: () => setTheme(theme),
        })),
        { id: 'logout', label: 'Log out', icon: 'logout', onSelect: () => void leave() },
      ]}
    />
  );
}
