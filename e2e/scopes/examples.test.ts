/** The example controllers of docs/examples/many-providers, on scopes and on a whole APIExport. */
import { spawn, type ChildProcess } from 'node:child_process';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, TempDir } from '@multiplane/testing';
import { goProgram, repository, skipLoudly } from '../harness/foreign-program.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { labelKey, Marketplace, mustSucceed, objectOf, slicesPath, type Cluster } from './marketplace.ts';

const patient = { timeout: 60_000 };
const example = join('docs', 'examples', 'many-providers');
const consumers = ['near', 'far'] as const;

let market: Marketplace;
let folder: TempDir;
const running: { readonly child: ChildProcess; readonly printed: string[] }[] = [];
beforeAll(async () => {
  [market, folder] = await Promise.all([
    Marketplace.start({ transfer: 'WhenFinalizersGone' }),
    TempDir.create('examples'),
  ]);
  copyFileSync(join(repository, example, 'typescript', 'controller.ts'), folder.join('controller.ts'));
  // As a project of a user, with its dependency installed.
  symlinkSync(join(repository, 'e2e', 'node_modules'), folder.join('node_modules'));
}, 240_000);
afterAll(async () => {
  for (const { child } of running) child.kill('SIGKILL');
  await market?.[Symbol.asyncDispose]();
  await folder?.remove();
});

/** What a controller is told to serve: the arguments behind its finalizer, and the servers for which one process runs each. */
interface Served {
  readonly servers: readonly string[];
  readonly args: readonly string[];
}

async function run(command: readonly string[], { servers, args }: Served, token: string, finalizer: string) {
  const [program = '', ...given] = command;
  for (const [index, server] of servers.entries()) {
    const kubeconfig = folder.join(`${finalizer.replaceAll('/', '-')}-${running.length}-${index}`);
    const certificate = Buffer.from(market.shared.cluster.ca).toString('base64');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'all', cluster: { server, 'certificate-authority-data': certificate } }],
      users: [{ name: 'provider', user: { token } }],
      contexts: [{ name: 'all', context: { cluster: 'all', user: 'provider' } }],
    };
    writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
    const child = spawn(program, [...given, kubeconfig, 'all', finalizer, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => printed.push(String(chunk)));
    running.push({ child, printed });
  }
}

const stopAll = (): void => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
};
const printedByAll = (): string => running.map(({ printed }) => printed.join('')).join('\n');

async function endpointsOf(path: string): Promise<string[]> {
  return eventually(async () => {
    const { json } = mustSucceed(await market.shared.requests.send({ path }));
    const { endpoints = [] } = (json['status'] ?? {}) as { endpoints?: { url: string }[] };
    if (endpoints.length === 0) throw new Error(JSON.stringify(json));
    return endpoints.map(({ url }) => url);
  }, patient);
}

/** One URL for each shard. */
async function urlsOf(what: 'scope' | 'export', name: string): Promise<Served> {
  const exports = '/clusters/root:provider/apis/apis.kcp.io/v1alpha1/apiexportendpointslices';
  const endpoints = await endpointsOf(`${what === 'scope' ? slicesPath : exports}/${name}`);
  return { servers: endpoints.map((endpoint) => `${endpoint}/clusters/*`), args: [] };
}

const current = async (consumer: string, name: string): Promise<Cluster> =>
  objectOf(await market.shared.requests.send({ path: market.own(consumer, name) }));

/** Waits until the providers have brought an object of every consumer to a state. */
const settled = (name: string, check: (object: Cluster) => void): Promise<void> =>
  eventually(async () => {
    try {
      for (const consumer of consumers) check(await current(consumer, name));
    } catch (error) {
      throw new Error(`${(error as Error).message}\nThe controllers printed:\n${printedByAll()}`, { cause: error });
    }
  }, patient);

/** Plays the marketplace with one program for both providers, then for the owner of the whole export. */
async function play(
  kind: string,
  command: readonly string[],
  serve: (what: 'scope' | 'export', name: string) => Promise<Served>,
): Promise<void> {
  const finalizers = { a: `a.example/${kind}`, b: `b.example/${kind}`, all: `all.example/${kind}` };
  const [forA, forB, whole] = [`for-a-${kind}`, `for-b-${kind}`, `whole-${kind}`];
  for (const consumer of consumers) {
    mustSucceed(await market.create(consumer, forA, { [labelKey]: 'a' }));
    mustSucceed(await market.create(consumer, whole));
  }
  await run(command, await serve('scope', 'a'), testTokens['user-1'], finalizers.a);
  await run(command, await serve('scope', 'b'), testTokens['user-2'], finalizers.b);
  const isRunning =
    (finalizer: string, scope: string | undefined) =>
    ({ metadata, status }: Cluster): void =>
      expect({ status, finalizers: metadata.finalizers, scope: metadata.labels?.[labelKey] }).toEqual({
        status: { phase: 'Running' },
        finalizers: [finalizer],
        scope,
      });
  await settled(forA, isRunning(finalizers.a, 'a'));
  // What is created while the controllers watch.
  for (const consumer of consumers) mustSucceed(await market.create(consumer, forB, { [labelKey]: 'b' }));
  await settled(forB, isRunning(finalizers.b, 'b'));
  // A transfer: one provider releases the object, the other one takes it, and its phase is as it was.
  for (const consumer of consumers) mustSucceed(await market.move(consumer, forA, 'b'));
  await settled(forA, isRunning(finalizers.b, 'b'));
  // A deletion reaches the provider.
  for (const consumer of consumers)
    mustSucceed(await market.shared.requests.send({ method: 'DELETE', path: market.own(consumer, forB) }));
  await eventually(async () => {
    for (const consumer of consumers)
      expect((await market.shared.requests.send({ path: market.own(consumer, forB) })).status).toBe(404);
  }, patient);
  // Objects without the label are in no scope: no provider has changed them.
  for (const consumer of consumers) expect(await current(consumer, whole)).not.toHaveProperty('status');
  stopAll();

  // The same program with the URL of the APIExport.
  await run(command, await serve('export', 'marketplace'), testTokens.masters, finalizers.all);
  await settled(whole, isRunning(finalizers.all, undefined));
  stopAll();
}

// oxlint-disable-next-line jest/expect-expect -- play() asserts
test('the controller in TypeScript serves a scope, hands over, and serves an APIExport unchanged', async () => {
  // It finds the endpoints itself, from the workspace in which they are published.
  const workspace = `${market.shared.cluster.url}/clusters/root:provider`;
  for (const [user, scope] of [
    ['user-1', 'a'],
    ['user-2', 'b'],
  ] as const) {
    const resources = ['apiexportscopeendpointslices'];
    const verbs = ['get', 'list', 'watch'];
    const rule = { apiGroups: ['scopes.multiplane.dev'], resources, resourceNames: [scope], verbs };
    await market.grant('provider', user, `endpoints-of-${scope}`, [rule]);
  }
  await play('typescript', [join(repository, 'hack', 'node'), folder.join('controller.ts')], (what, name) =>
    Promise.resolve({ servers: [workspace], args: [what, name] }),
  );
}, 240_000);

const go = goProgram(join(example, 'go'), '.');
const inGo = 'the controller in Go serves a scope, hands over, and serves an APIExport unchanged';
if ('problem' in go) skipLoudly(inGo, go.problem);
else {
  // oxlint-disable-next-line jest/valid-title, jest/expect-expect -- the same as when it is skipped; play() asserts
  test(inGo, async () => play('go', [go.command], urlsOf), 240_000);
}
