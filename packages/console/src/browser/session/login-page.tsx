import { useState, type ReactElement } from 'react';
import { Button } from '../components/button.tsx';
import { Field } from '../components/field.tsx';
import { Notice } from '../components/notice.tsx';
import { BrandMark } from '../shell/brand-mark.tsx';
import type { LoginMethod, Session } from './session.ts';

interface LoginPageProps {
  readonly methods: readonly LoginMethod[];
  /** There was a session, and it has ended. */
  readonly hasExpired: boolean;
  readonly onLogin: (session: Session) => void;
}

/** The ways into a session. The page that was asked for comes afterwards. */
export function LoginPage({ methods, hasExpired, onLogin }: LoginPageProps): ReactElement {
  const issuers = methods.filter((method) => method.kind === 'oidc');
  const takesTokens = methods.some(({ kind }) => kind === 'token');
  const here = location.pathname + location.search;
  return (
    <main className="login">
      <div className="login-card">
        <div className="login-brand">
          <BrandMark size={36} />
          <h1>Log in to Multiplane</h1>
          <p>See and steer workspaces, APIs and access of your control plane.</p>
        </div>
        {hasExpired && (
          <Notice tone="info" title="Your session has ended">
            Log in again to go on where you were.
          </Notice>
        )}
        {issuers.map(({ id, displayName }) => (
          <a
            key={id}
            className="button button-primary button-medium login-wide"
            href={`/console/login/oidc/${encodeURIComponent(id)}?returnTo=${encodeURIComponent(here)}`}
          >
            Log in with {displayName}
          </a>
        ))}
        {issuers.length > 0 && takesTokens && <div className="login-or">or</div>}
        {takesTokens && <TokenForm onLogin={onLogin} isFirst={issuers.length === 0} />}
        <p className="login-hint">
          At the machine of the control plane, <code>multiplane console-link</code> prints a link that logs you in once.
        </p>
      </div>
    </main>
  );
}

function TokenForm({
  onLogin,
  isFirst,
}: {
  readonly onLogin: (session: Session) => void;
  readonly isFirst: boolean;
}): ReactElement {
  const [token, setToken] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      const response = await fetch('/console/login/token', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ token: token.trim() }),
      });
      if (response.ok) {
        onLogin((await response.json()) as Session);
        return;
      }
      setError(
        response.status === 401
          ? 'The control plane does not accept this token.'
          : response.status === 429
            ? 'Too many attempts. Wait a moment and try again.'
            : (((await response.json()) as { message?: string }).message ?? `The console answered ${response.status}.`),
      );
    } catch {
      setError('The console does not answer.');
    }
    setIsBusy(false);
  };
  return (
    <form
      className="login-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field
        label="Bearer token"
        error={error}
        hint="The token of a service account or of a user. It stays in the console's memory and never in this browser."
      >
        {(control) => (
          <input
            {...control}
            className="input"
            type="password"
            name="token"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        )}
      </Field>
      <Button
        type="submit"
        variant={isFirst ? 'primary' : 'secondary'}
        className="login-wide"
        isBusy={isBusy}
        disabled={token.trim() === ''}
      >
        Log in
      </Button>
    </form>
  );
}
