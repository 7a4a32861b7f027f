import { createContext, use } from 'react';
import type { ApiClient } from '../data/api-client.ts';
import type { LiveListPool } from '../data/live-list-pool.ts';
import type { Session } from '../session/session.ts';

export interface AppServices {
  readonly api: ApiClient;
  readonly pool: LiveListPool;
  readonly session: Session;
}

export const AppContext = createContext<AppServices | undefined>(undefined);

/** What the whole application shares while somebody is logged in. */
export function useApp(): AppServices {
  const services = use(AppContext);
  if (services === undefined) throw new Error('used outside of a session');
  return services;
}
