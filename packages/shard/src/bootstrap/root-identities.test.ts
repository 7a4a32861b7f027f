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

test('reads identity keys by export', async () => {
  expect(
    await read('identities:\n- export: tenancy.kcp.io\n  identity: abc\n- {export: other, identity: d}\n'),
  ).toEqual([
    ['tenancy.kcp.io', 'abc'],
    ['other', 'd'],
  ]);
  expect([...readRootIdentities(undefined)]).toEqual([]);
});

test.each([
  ['identities: {}', /identities\.yaml: identities: must be of type array, got object/],
  ['[1]', /identities\.yaml: must be of type object, got array/],
  ['identities:\n- export: a\n', /identities\[0\]\.identity: Required value/],
  [
    'identities:\n- {export: a, identity: b}\n- {export: a, identity: 5}\n',
    /identities\[1\]\.identity: must be a non-empty string, got number/,
  ],
  ['identities:\n- {export: "", identity: b}\n', /identities\[0\]\.export: must be a non-empty string/],
  ['identities: [', /identities\.yaml: yaml: /],
])('%j is rejected', async (text, why) => {
  await expect(read(text)).rejects.toThrow(why);
});

test('names the flag of a missing file', () => {
  expect(() => readRootIdentities(folder.join('missing'))).toThrow(
    /^--root-identities-file: .*missing cannot be read$/,
  );
});
