import { Agent, request } from 'node:https';
import type { CustomFetch } from 'openid-client';

const maxResponseBytes = 1024 * 1024;

/** `fetch` for servers of a private CA, which Node's own cannot be given. Bodies are text. */
export function fetchTrusting(ca: string): CustomFetch {
  const agent = new Agent({ ca, keepAlive: false });
  return (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, { agent, method, headers, ...(signal === undefined ? {} : { signal }) });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (length > maxResponseBytes) response.destroy(new Error('the response of the issuer is too large'));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          const status = response.statusCode ?? 500;
          const content = status === 204 || status === 304 ? null : Buffer.concat(chunks);
          const received = new Headers();
          for (const [name, value] of Object.entries(response.headers))
            if (value !== undefined) received.set(name, Array.isArray(value) ? value.join(', ') : value);
          resolve(new Response(content, { status, headers: received }));
        });
      });
      outgoing.end(body === undefined || body === null ? undefined : textOf(body));
    });
}

const textOf = (body: unknown): string =>
  typeof body === 'string' ? body : body instanceof URLSearchParams ? body.toString() : '';
