import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ensureServingCertificate, servingHosts } from './self-signed-serving.ts';
import { FakeClock } from '@multiplane/testing';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('a certificate is issued once, and again when it lacks a host or is about to expire', async () => {
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

test('serving hosts are those of the machine, the bind address and the URLs', () => {
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
