import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState, type ReactElement } from 'react';
import { RouterProvider } from 'react-router/dom';
import { Button } from './components/button.tsx';
import { Loading } from './components/loading.tsx';
import { Notice } from './components/notice.tsx';
import { ToastProvider } from './components/toast.tsx';
import { ApiClient } from './data/api-client.ts';
import { isRefusal } from './data/api-error.ts';
import { realClock } from './data/browser-clock.ts';
import { LiveListPool } from './data/live-list-pool.ts';
import { AppContext, type AppServices } from './hooks/app-context.ts';
import { createRouter } from './router.tsx';
import { LoginPage } from './session/login-page.tsx';
import { readSession, type Session, type SessionState } from './session/session.ts';

type State = { readonly kind: 'loading' } | { readonly kind: 'failed'; readonly error: Error } | SessionState;

const fetchHere = (path: string, init?: RequestInit): Promise<Response> => fetch(path, init);

const isSameSession = (a: State, b: State): boolean =>
  a.kind === 'session' && b.kind === 'session' && a.session.csrfToken === b.session.csrfToken;

/** The log-in page or, with a session, the shell. A session that ends leads back to the log-in page at the same address. */
export function App(): ReactElement {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const [hadSession, setHadSession] = useState(false);
  const load = useCallback(async (): Promise<void> => {
    try {
      const next = await readSession(fetchHere);
      // A server behind the API may refuse one request while the session goes on: then nothing is drawn anew.
      setState((now) => (isSameSession(now, next) ? now : next));
    } catch (error) {
      setState({ kind: 'failed', error: error as Error });
    }
  }, []);
  useEffect(() => void load(), [load]);
  const start = (session: Session): void => setState({ kind: 'session', session });
  const end = useCallback((): void => {
    setHadSession(true);
    void load();
  }, [load]);
  switch (state.kind) {
    case 'loading':
      return (
        <main className="app-message">
          <Loading label="Loading the console" rows={3} />
        </main>
      );
    case 'failed':
      return (
        <main className="app-message">
          <Notice
            tone="bad"
            title="The console does not answer"
            action={<Button onClick={() => void load()}>Try again</Button>}
          >
            {state.error.message}
          </Notice>
        </main>
      );
    case 'login':
      return <LoginPage methods={state.methods} hasExpired={hadSession} onLogin={start} />;
    case 'session':
      return <Running key={state.session.csrfToken} session={state.session} onUnauthorized={end} />;
  }
}

/** The application of one session. */
function Running({
  session,
  onUnauthorized,
}: {
  readonly session: Session;
  readonly onUnauthorized: () => void;
}): ReactElement {
  const services = useMemo((): AppServices => {
    const api = new ApiClient({ fetch: fetchHere, onUnauthorized });
    api.csrfToken = session.csrfToken;
    const pool = new LiveListPool({
      send: (path, request) => api.send(path, request),
      clock: realClock,
      random: Math.random,
      schedule: (run) => void requestAnimationFrame(run),
    });
    return { api, pool, session };
  }, [session, onUnauthorized]);
  const queries = useMemo(
    () =>
      new QueryClient({
        defaultOptions: {
          queries: {
            staleTime: 10_000,
            // What the server refuses it refuses again.
            retry: (failures, error) => failures < 2 && !isRefusal(error),
          },
        },
      }),
    [],
  );
  const router = useMemo(() => createRouter(session), [session]);
  return (
    <AppContext value={services}>
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </AppContext>
  );
}
