import type { ClientConfig } from '@multiplane/client';
import { request } from 'node:https';
import { basePath } from './base-path.ts';

export interface LoginLinkOptions {
  /** `https://<host>:<port>` of the console, as browsers reach it. */
  readonly consoleUrl: string;
  /** The credential, and the CA of the console. */
  readonly config: ClientConfig;
}

/** Asks a console for a one-time link for the user of a kubeconfig. Returns its URL and when it ends. */
export async function createLoginLink(
  options: LoginLinkOptions,
): Promise<{ readonly url: string; readonly expiresAt: string; readonly user: string }> {
  const { consoleUrl, config } = options;
  const { token, certificate, key } = config;
  if (token === undefined && (certificate === undefined || key === undefined))
    throw new Error('the kubeconfig has neither a token nor a client certificate');
  const body = JSON.stringify(token === undefined ? { certificate, privateKey: key } : { token });
  const { status, text } = await post(new URL(`${basePath}login/links`, consoleUrl), body, config);
  if (status !== 201) throw new Error(`the console answered ${status}: ${messageOf(text)}`);
  const { path, expiresAt, user } = JSON.parse(text) as {
    readonly path: string;
    readonly expiresAt: string;
    readonly user: string;
  };
  return { url: new URL(path, consoleUrl).href, expiresAt, user };
}

function post(
  url: URL,
  body: string,
  { ca, insecure }: ClientConfig,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: 'POST',
      ...(ca === undefined ? {} : { ca }),
      ...(insecure === true ? { rejectUnauthorized: false } : {}),
      signal: AbortSignal.timeout(15_000),
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.end(body);
  });
}

function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : text;
  } catch {
    return text;
  }
}
