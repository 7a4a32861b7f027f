import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FakeClock } from '../clock/fake-clock.ts';
import { ensureServingCertificate, servingHosts } from './self-made-serving.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a certificate is made once, and anew when it lacks a name or is about to run out', async () => {
  const clock = new FakeClock();
  const ensure = async (...hosts: string[]): Promise<string> => {
    const files = await ensureServingCertificate({ folder: join(folder, 'root'), name: 'apiserver', hosts }, { clock });
    const leaf = new X509Certificate(readFileSync(files.certificateFile));
    expect(leaf.verify(new X509Certificate(readFileSync(files.authorityFile)).publicKey)).toBe(true);
    return leaf.serialNumber;
  };
  const first = await ensure('localhost', '127.0.0.1');
  expect(await ensure('localhost')).toBe(first);
  const second = await ensure('localhost', 'api.example.org');
  expect(second).not.toBe(first);
  await clock.advance(336 * 24 * 60 * 60 * 1000);
  expect(await ensure('localhost', 'api.example.org')).not.toBe(second);
});

test('a server is reached by the names of this machine, its address and its URLs', () => {
  const hosts = servingHosts({
    bindAddress: '10.1.2.3',
    externalHostname: 'api.example.org',
    urls: ['https://shard.example.org:6444', undefined, 'https://[::1]:6443'],
  });
  expect(hosts).toEqual(
    expect.arrayContaining(['localhost', '127.0.0.1', '10.1.2.3', 'api.example.org', 'shard.example.org']),
  );
  expect(hosts.filter((host) => host === '::1')).toHaveLength(1);
  expect(servingHosts({ bindAddress: '0.0.0.0' })).not.toContain('0.0.0.0');
});
