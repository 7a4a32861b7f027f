import { readFileSync } from 'node:fs';
import { ScenarioTransport } from '../../e2e/conformance/transport.ts';

export interface TargetOptions {
  /** `https://host:port`, with the prefix of every path (`/clusters/root:team`) if there is one. */
  readonly url: string;
  /** File with the CA's certificate (PEM). */
  readonly ca: string;
  /** File with bearer tokens by name: `{"admin": …, "user-1": …, "user-2": …}`. */
  readonly tokens: string;
}

export function targetOf({ url, ca, tokens }: TargetOptions): ScenarioTransport {
  const { origin, pathname } = new URL(url);
  return new ScenarioTransport({
    server: origin,
    prefix: decodeURI(pathname).replace(/\/$/, ''),
    ca: readFileSync(ca, 'utf8'),
    tokens: JSON.parse(readFileSync(tokens, 'utf8')) as Record<string, string>,
  });
}
