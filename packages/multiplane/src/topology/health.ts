import { readFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { ClusterProcess } from './topology.ts';

/** What a process says about itself: `ready`, or what is missing. Never throws. */
export async function askHealth({ url, ca }: ClusterProcess['health']): Promise<string> {
  return await healthAt(url, () => (ca === undefined ? undefined : readFileSync(ca)));
}

/** What a health page says: `ready`, or what is missing. Never throws. `authority` gives the PEM that is trusted. */
export async function healthAt(url: string, authority: () => Buffer | undefined): Promise<string> {
  try {
    const { status, body } = await ask(url, authority());
    if (status === 200) return 'ready';
    const failing = [...body.matchAll(/^\[-\](\S+) failed/gm)].map(([, name]) => name);
    return `not ready: ${failing.length > 0 ? failing.join(', ') : `${status} ${body.split('\n', 1).join('')}`}`;
  } catch (error) {
    return `not reachable: ${(error as NodeJS.ErrnoException).code ?? String(error)}`;
  }
}

function ask(url: string, ca: Buffer | undefined): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const trust = ca === undefined ? {} : { ca };
    const get = url.startsWith('https:') ? httpsGet : httpGet;
    const sent = get(url, { agent: false, timeout: 5000, ...trust }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => (body += chunk))
        .on('end', () => resolve({ status: response.statusCode ?? 0, body }))
        .on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', reject);
  });
}
