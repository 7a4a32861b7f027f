import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { readRootIdentities } from './root-identities.ts';

let folder: TempDir;
beforeAll(async () => {
  folder = await TempDir.create('identities');
});
afterAll(() => folder.remove());

async function read(text: string): Promise<[string, string][]> {
  const file = folder.join('identities.yaml');
  await writeFile(file, text);
  return [...readRootIdentities(file)];
}

test('keys of identities are read by export', async () => {
  expect(
    await read('identities:\n- export: tenancy.kcp.io\n  identity: abc\n- {export: other, identity: d}\n'),
  ).toEqual([
    ['tenancy.kcp.io', 'abc'],
    ['other', 'd'],
  ]);
  expect([...readRootIdentities(undefined)]).toEqual([]);
});

test.each([
  ['identities: {}', /has no list "identities"/],
  ['[1]', /has no list "identities"/],
  ['identities:\n- export: a\n', /identities\[0\] needs "export" and "identity"/],
  ['identities:\n- {export: a, identity: b}\n- {export: a, identity: 5}\n', /identities\[1\] needs/],
  ['identities: [', /cannot be read/],
])('%j is refused', async (text, why) => {
  await expect(read(text)).rejects.toThrow(why);
});

test('a file that is not there is told by its flag', () => {
  expect(() => readRootIdentities(folder.join('missing'))).toThrow(
    /^--root-identities-file: .*missing cannot be read$/,
  );
});
