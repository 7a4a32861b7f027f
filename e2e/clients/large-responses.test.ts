import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TempDir } from '@multiplane/testing';
import { configMap } from '../fixtures/gadgets.ts';
import { describeWith, goProgram, programOnPath, pythonWith } from '../harness/foreign-program.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';
import { Requests } from '../harness/requests.ts';

/**
 * HTTP clients of several languages that read large responses and send the next request over the same connection at once: each
 * request gets a response. They send headers and bodies in different numbers of writes and records.
 */

const run = promisify(execFile);
const connections = 8;
const rounds = Number(process.env['MULTIPLANE_FUZZ_RUNS'] ?? 8);
const timeoutMs = 120_000 + rounds * 1_000;
const maps = '/api/v1/namespaces/e2e/configmaps';
const protocols = [['1.1'], ['2']];

let workspace: KubectlWorkspace;
let folder: TempDir;
let environment: Record<string, string>;

beforeAll(async () => {
  folder = await TempDir.create('large-responses');
  workspace = await KubectlWorkspace.start();
  const { cluster, path } = workspace;
  using requests = new Requests(cluster, `/clusters/${path}`);
  await requests.must({ method: 'POST', path: maps, body: configMap('large', { a: 'x'.repeat(90_000) }) });
  writeFileSync(folder.join('ca.pem'), cluster.ca);
  environment = {
    MAPS: `${cluster.url}/clusters/${path}${maps}`,
    CA: folder.join('ca.pem'),
    TOKEN: cluster.adminToken,
    ROUNDS: String(rounds),
    CONNECTIONS: String(connections),
  };
}, 240_000);
afterAll(async () => {
  await workspace?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

/** What a program prints: how many requests had which outcome. */
async function played(command: string, parameters: readonly string[], protocol = '1.1'): Promise<readonly string[]> {
  const { stdout } = await run(command, parameters, {
    env: { ...process.env, ...environment, PROTOCOL: protocol },
    maxBuffer: 2 ** 26,
  });
  return stdout.trim().split('\n').toSorted();
}

/** Each round reads an object and a list of it, and creates an object. */
const all = [`${connections * rounds} 201 False`, `${2 * connections * rounds} 200 True`].toSorted();

describeWith(pythonWith('requests'), 'Python on the package requests', (command) => {
  test(
    'gets a response to each request',
    async () => {
      const script = join(import.meta.dirname, 'python', 'large_responses.py');
      expect(await played(command, [script])).toEqual(all);
    },
    timeoutMs,
  );
});

describeWith(goProgram('e2e/clients/go', 'large-responses'), 'Go on net/http', (command) => {
  test.each(protocols)(
    'gets a response to each request over HTTP/%s',
    async (protocol) => {
      expect(await played(command, [], protocol)).toEqual(all);
    },
    timeoutMs,
  );
});

describeWith(programOnPath('java', '--source', '17', '--version'), 'Java on java.net.http', (command) => {
  test.each(protocols)(
    'gets a response to each request over HTTP/%s',
    async (protocol) => {
      const source = join(import.meta.dirname, 'java', 'LargeResponses.java');
      expect(await played(command, [source], protocol)).toEqual(all);
    },
    timeoutMs,
  );
});

describeWith(programOnPath('curl', '--version'), 'curl', (command) => {
  test.each(protocols)(
    'gets a response to each request over HTTP/%s',
    async (protocol) => {
      const { MAPS, CA, TOKEN } = environment as { readonly [name in 'MAPS' | 'CA' | 'TOKEN']: string };
      const common = ['cacert', CA, 'header', `Authorization: Bearer ${TOKEN}`, 'output', '/dev/null'];
      const transfer = (url: string, ...more: readonly string[]): string => {
        const words = [...common, 'write-out', '%{http_code} %{size_download}\\n', 'url', url, ...more];
        const lines: string[] = protocol === '2' ? ['http2'] : ['http1.1'];
        for (let i = 0; i < words.length; i += 2) lines.push(`${words[i]} = ${JSON.stringify(words[i + 1])}`);
        return lines.join('\n');
      };
      const body = JSON.stringify(configMap('small', { a: 'x' }));
      const round = [
        transfer(`${MAPS}/large`),
        transfer(`${MAPS}?dryRun=All`, 'header', 'Content-Type: application/json', 'data', body),
        transfer(MAPS),
      ];
      writeFileSync(
        folder.join('curl.txt'),
        Array.from({ length: rounds }, () => round)
          .flat()
          .join('\nnext\n'),
      );
      const outcomes = await Promise.all(
        Array.from({ length: connections }, () =>
          played(command, ['--silent', '--show-error', '--config', folder.join('curl.txt')]),
        ),
      );
      const counts = new Map<string, number>();
      for (const line of outcomes.flat()) {
        const [status, size] = line.split(' ');
        const outcome = `${status} ${Number(size) > 80_000 ? 'True' : 'False'}`;
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }
      expect([...counts].map(([outcome, count]) => `${count} ${outcome}`).toSorted()).toEqual(all);
    },
    timeoutMs,
  );
});
