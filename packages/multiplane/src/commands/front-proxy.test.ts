import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { frontProxyCommand } from './front-proxy.ts';

const kubeconfig = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'shard',
  clusters: [{ name: 'shard', cluster: { server: 'https://127.0.0.1:1' } }],
  contexts: [{ name: 'shard', context: { cluster: 'shard', user: 'admin' } }],
  users: [{ name: 'admin', user: { token: 'secret' } }],
};
const authentication = (expression: string) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt: [
    {
      issuer: { url: 'https://issuer.example.com', audiences: ['a'] },
      claimMappings: { username: { expression } },
    },
  ],
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'front-proxy-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

test('CEL expressions of --authentication-config are compiled', async () => {
  const args = [
    `--root-directory=${folder}`,
    `--mapping-file=${file('mapping.yaml', [])}`,
    `--shards-kubeconfig=${file('shards.kubeconfig', kubeconfig)}`,
    `--authentication-config=${file('authentication.yaml', authentication('claims.sub +'))}`,
  ];
  await expect(frontProxyCommand({}).run(args)).rejects.toThrow(
    /claimMappings\.username\.expression: .*compilation failed: (?!this server does not support)/s,
  );
});
