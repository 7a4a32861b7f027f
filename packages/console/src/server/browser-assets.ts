import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { newSecret } from './same-secret.ts';
import { setPagePolicy } from './security-headers.ts';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
/** What the build writes where a style sheet's nonce belongs (Vite's `html.cspNonce`). */
const noncePlaceholder = '__CSP_NONCE__';
const notBuilt = 'The browser application is not built: run `make build`.\n';

/** Serves the files of the built browser application. */
export class BrowserAssets {
  readonly #folder: string;
  /** The last one that was sent. */
  #page: string | undefined;
  /** Paths below the folder, read once per build: a path that is not among them is never looked up on disk. */
  #files: ReadonlySet<string> | undefined;

  constructor(options: { readonly folder: string }) {
    this.#folder = options.folder;
  }

  /** Sends `assets/<path>`; returns false if there is no such file. Names contain a hash of the content. */
  sendAsset(request: IncomingMessage, response: ServerResponse, path: string): boolean {
    const name = `assets/${path}`;
    this.#files ??= this.#list();
    if (!this.#files.has(name) || name.endsWith('.br') || name.endsWith('.gz')) return false;
    const accepted = new Set(
      (request.headers['accept-encoding'] ?? '')
        .split(',')
        .map((coding) => coding.trim())
        .filter((coding) => !/;\s*q=0(\.0*)?$/.test(coding))
        .map((coding) => coding.split(';')[0]),
    );
    const coding = encodings.find(([token, suffix]) => accepted.has(token) && this.#files?.has(name + suffix) === true);
    const file = join(this.#folder, name + (coding?.[1] ?? ''));
    response.statusCode = 200;
    response.setHeader('content-type', types[extname(name)] ?? 'application/octet-stream');
    response.setHeader('content-length', statSync(file).size);
    response.setHeader('vary', 'accept-encoding');
    response.setHeader('cache-control', 'public, max-age=31536000, immutable');
    if (coding !== undefined) response.setHeader('content-encoding', coding[0]);
    if (request.method === 'HEAD') response.end();
    else
      createReadStream(file)
        .on('error', () => response.destroy())
        .pipe(response);
    return true;
  }

  /** Sends the page, whatever path the application routes. */
  sendPage(request: IncomingMessage, response: ServerResponse): void {
    let page: string;
    try {
      page = readFileSync(join(this.#folder, 'index.html'), 'utf8');
    } catch {
      response.statusCode = 503;
      response.setHeader('content-type', 'text/plain; charset=utf-8');
      response.end(notBuilt);
      return;
    }
    // Another build has other files.
    if (page !== this.#page) this.#files = undefined;
    this.#page = page;
    const nonce = newSecret();
    const body = Buffer.from(page.replaceAll(noncePlaceholder, nonce));
    response.statusCode = 200;
    response.setHeader('content-type', types['.html'] as string);
    response.setHeader('content-length', body.length);
    setPagePolicy(response, nonce);
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  #list(): ReadonlySet<string> {
    try {
      return new Set(
        readdirSync(join(this.#folder, 'assets'), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ parentPath, name }) => join(parentPath, name).slice(this.#folder.length + 1)),
      );
    } catch {
      // Not built; it may be, by the next request.
      return new Set();
    }
  }
}
