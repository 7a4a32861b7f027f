import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { readConsoleConfiguration } from './console-configuration.ts';

let folder: TempDir;
beforeAll(async () => {
  folder = await TempDir.create('console-configuration');
  await writeFile(folder.join('secret'), 's3cret\n');
});
afterAll(() => folder?.remove());

async function read(issuers: unknown): Promise<ReturnType<typeof readConsoleConfiguration>> {
  const file = folder.join('console.yaml');
  const document = { apiVersion: 'console.multiplane.io/v1alpha1', kind: 'ConsoleConfiguration', issuers };
  await writeFile(file, JSON.stringify(document));
  return readConsoleConfiguration(file);
}
const issuer = { id: 'staff', issuerURL: 'https://login.example.org', clientID: 'console' };

test('an issuer with what is usual, and with everything', async () => {
  const scopes = ['email', 'groups'];
  expect(await read([issuer, { ...issuer, id: 'b', displayName: 'B', clientSecretFile: 'secret', scopes }])).toEqual([
    {
      id: 'staff',
      displayName: 'staff',
      issuerUrl: issuer.issuerURL,
      clientId: 'console',
      clientSecret: undefined,
      scopes: ['openid', 'profile', 'email', 'offline_access'],
      ca: undefined,
    },
    expect.objectContaining({ displayName: 'B', clientSecret: 's3cret', scopes: ['openid', 'email', 'groups'] }),
  ]);
});

test.each([
  [[{ ...issuer, id: 'Not a label' }], 'id'],
  [[{ ...issuer, issuerURL: 'http://login.example.org' }], 'issuerURL'],
  [[{ ...issuer, unknown: true }], 'unknown'],
  [[{ ...issuer, clientSecretFile: 'missing' }], 'missing'],
  [[issuer, issuer], 'Duplicate value: "staff"'],
])('%j is refused and names %s', async (issuers, part) => {
  await expect(read(issuers)).rejects.toThrow(part);
});
