import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { BrowserAssets } from './browser-assets.ts';
import { sendError } from './send.ts';

const script = 'export const x = 1;\n'.repeat(200);
let folder: TempDir;
let server: Server;

beforeAll(async () => {
  folder = await TempDir.create('assets');
  await mkdir(folder.join('assets', 'fonts'), { recursive: true });
  await writeFile(folder.join('assets', 'app-1a2b.js'), script);
  await writeFile(folder.join('assets', 'app-1a2b.js.gz'), gzipSync(script));
  await writeFile(folder.join('assets', 'app-1a2b.js.br'), brotliCompressSync(script));
  await writeFile(folder.join('assets', 'fonts', 'f.woff2'), 'font');
  await writeFile(folder.join('index.html'), '<meta property="csp-nonce" nonce="__CSP_NONCE__">');
  await writeFile(folder.join('.secret'), 'secret');
  const assets = new BrowserAssets({ folder: folder.path });
  server = createServer((incoming, response) => {
    const { url = '' } = incoming;
    if (!url.startsWith('/assets/')) assets.sendPage(incoming, response);
    else if (!assets.sendAsset(incoming, response, url.slice('/assets/'.length)))
      sendError(response, new Error('none'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await folder.remove();
});

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; body: Buffer }> {
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ host: '127.0.0.1', port, path, headers, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

test.each([
  ['br, gzip', 'br', brotliCompressSync(script)],
  ['gzip;q=1.0, br;q=0', 'gzip', gzipSync(script)],
  ['identity', undefined, Buffer.from(script)],
])('a script for a browser that takes %s', async (accepted, coding, body) => {
  const answer = await get('/assets/app-1a2b.js', { 'accept-encoding': accepted });
  expect([answer.status, answer.headers]).toMatchObject([
    200,
    {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-length': String(body.length),
      vary: 'accept-encoding',
    },
  ]);
  expect(answer.headers['content-encoding']).toBe(coding);
  expect(answer.body.equals(body)).toBe(true);
});

test('nothing but the assets can be read', async () => {
  expect((await get('/assets/fonts/f.woff2')).headers['content-type']).toBe('font/woff2');
  for (const path of [
    '../.secret',
    '..%2f.secret',
    '../index.html',
    './app-1a2b.js',
    'app-1a2b.js.gz',
    'fonts',
    '',
    '__proto__',
  ])
    expect([path, (await get(`/assets/${path}`)).status]).toEqual([path, 500]);
});

test('the page allows scripts of the console only, and style sheets with its nonce, which is new each time', async () => {
  const nonces = new Set<string>();
  for (const path of ['/', '/w/root:a']) {
    const { headers, body } = await get(path);
    const [, nonce = ''] = /nonce="([^"]+)"/.exec(body.toString()) ?? [];
    nonces.add(nonce);
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
  }
  expect(nonces.size).toBe(2);
});

test('the files of another build are found once its page is sent', async () => {
  await get('/');
  await writeFile(folder.join('assets', 'app-3c4d.js'), script);
  await writeFile(folder.join('index.html'), '<script src="/assets/app-3c4d.js"></script>');
  await get('/');
  expect((await get('/assets/app-3c4d.js')).status).toBe(200);
});
