import { Agent, request } from 'node:https';
import { tlsOptions, type ApiServer } from './api-server.ts';
import type { Credential } from './credential.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** With the query. */
  readonly path: string;
  readonly body?: object | undefined;
  /** Media types; default JSON. */
  readonly accept?: string | undefined;
  readonly maxResponseBytes?: number | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly text: string;
}

const timeoutMs = 10_000;
const defaultMaxResponseBytes = 1024 * 1024;

/** One request of the console in the name of a user, on a connection of its own. Rejects when the server does not answer. */
export function apiRequest(server: ApiServer, credential: Credential, asked: ApiRequest): Promise<ApiResponse> {
  const { method, path, body, accept = 'application/json', maxResponseBytes = defaultMaxResponseBytes } = asked;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const url = new URL(server.url);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...tlsOptions(server),
      ...(credential.kind === 'certificate' ? { cert: credential.certificate, key: credential.privateKey } : {}),
      agent: new Agent({ keepAlive: false }),
      host: url.hostname.replaceAll(/^\[|\]$/g, ''),
      port: url.port === '' ? 443 : url.port,
      method,
      path,
      timeout: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        accept,
        'user-agent': 'multiplane-console',
        ...(credential.kind === 'token' ? { authorization: `Bearer ${credential.token}` } : {}),
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > maxResponseBytes) response.destroy(new Error(`the response exceeds ${maxResponseBytes} bytes`));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.end(text);
  });
}
