import { useSyncExternalStore, type ReactElement } from 'react';
import { Badge } from '../components/badge.tsx';
import { useApp } from '../hooks/app-context.ts';

/** Says when what the page shows may be old. */
export function ConnectionState(): ReactElement | null {
  const { pool } = useApp();
  const isInterrupted = useSyncExternalStore(pool.onConnection, () => pool.isInterrupted);
  return (
    <span role="status">
      {isInterrupted && (
        <Badge tone="warn" title="The console tries again until the control plane answers.">
          Reconnecting
        </Badge>
      )}
    </span>
  );
}
