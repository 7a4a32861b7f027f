import { mkdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isStatusError } from '@multiplane/apimachinery';
import {
  mergeKubeconfig,
  readClientConfig,
  readKubeconfig,
  RestClient,
  RestTransport,
  type Kubeconfig,
} from '@multiplane/client';
import {
  createLogger,
  makeRootDirectory,
  readIfPresent,
  retry,
  systemClock,
  writeFileAtomic,
  type Logger,
} from '@multiplane/component-base';
import { initClusterPki } from '@multiplane/component-base/pki';
import { askHealth } from '../topology/health.ts';
import { preparePlace } from '../topology/local-place.ts';
import { topology, urlsOf, type ClusterProcess, type Place } from '../topology/topology.ts';
import { launchProcess } from './launch-process.ts';
import { LinePrefixer } from './line-prefixer.ts';
import { adoptAuthorities, readRecord, resized, writeRecord, type ShardedRecord } from './root-directory.ts';
import { portsFree } from './ports-free.ts';
import { shardedPlace, type ShardedPlaceOptions } from './sharded-place.ts';
import { Supervisor } from './supervisor.ts';

export interface StartShardedOptions extends ShardedPlaceOptions {
  readonly shards: number;
  readonly loggingFormat: 'text' | 'json';
  /** Flags that the user set, with their values as text. */
  readonly given: Readonly<Record<string, string>>;
}

export interface StartShardedModules {
  readonly signal: AbortSignal;
  /** `process`: how this program was started, and so how its children are. */
  readonly program: {
    readonly execPath: string;
    readonly execArgv: readonly string[];
    readonly main: string;
    readonly env: Readonly<Record<string, string | undefined>>;
  };
  /** Receives what the processes write, whole lines. */
  readonly write: (text: string) => void;
}

/** Of this process in the log. */
const supervisorName = 'supervisor';
const startTimeout = 600_000;
const stopTimeout = 60_000;

/**
 * `multiplane start --shards N`: N shards with embedded stores, a cache server, the front-proxy and the console as processes of this
 * machine (docs/adr/0144-all-cores-of-one-machine.md). Runs until the signal aborts; throws when the start fails.
 */
export async function startSharded(options: StartShardedOptions, modules: StartShardedModules): Promise<void> {
  const { signal, write } = modules;
  const { rootDirectory, bindAddress, loggingFormat: format } = options;
  const before = readRecord(rootDirectory) ?? { shards: ['root'], removed: [] };
  const record = await resized(rootDirectory, before, options.shards);
  const place = shardedPlace(options, record.shards, options.given);
  await makeRootDirectory(rootDirectory);
  await adoptAuthorities(rootDirectory, place.pki);
  await makeCertificates(place, options);
  preparePlace(place);
  await writeRecord(rootDirectory, record);
  const kubeconfig = join(rootDirectory, 'admin.kubeconfig');
  await writeAdminKubeconfig(kubeconfig, place);

  const processes = topology(place);
  const width = Math.max(...processes.map(({ name }) => name.length), supervisorName.length);
  const linesOf = (name: string): LinePrefixer => new LinePrefixer({ name, width, format }, { write });
  const own = linesOf(supervisorName);
  const logger = createLogger({ format }, { write: (line) => own.push(line) });
  for (const { args } of processes) {
    const folder = args.find((arg) => arg.startsWith('--root-directory='))?.slice('--root-directory='.length);
    if (folder !== undefined) await mkdir(folder, { recursive: true, mode: 0o700 });
  }
  // What the kill of an earlier supervisor left is stopping; what another control plane left would answer for ours.
  await portsFree(
    { host: bindAddress, ports: new Map(processes.map(({ name, port }) => [name, port])), timeout: stopTimeout },
    { clock: systemClock, signal },
  );
  if (signal.aborted) return;
  const supervisor = new Supervisor(
    { processes, startTimeout, stopTimeout },
    {
      launch: (each) => launch(each, linesOf(each.name), options, modules),
      probe: ({ health }) => askHealth(health),
      clock: systemClock,
      logger,
    },
  );
  await supervisor.run(signal, () => {
    logger.info('ready', { url: place.externalUrl, kubeconfig, shards: record.shards, processes: processes.length });
    void forgetShards(rootDirectory, record, place, { logger, signal });
  });
}

function launch(
  { kind, args }: ClusterProcess,
  lines: LinePrefixer,
  { given }: StartShardedOptions,
  { program }: StartShardedModules,
): ReturnType<typeof launchProcess> {
  // Only for what holds the values of a store outside of V8's heap (bin/multiplane).
  const flags = program.execArgv.filter(
    (flag) => kind === 'shard' || flag !== '--external-memory-accounted-in-global-limit',
  );
  // The flags of this command are not those of its children.
  const own = new Set(Object.keys(given).map((flag) => `MULTIPLANE_${flag.toUpperCase().replaceAll('-', '_')}`));
  const env = Object.fromEntries(Object.entries(program.env).filter(([variable]) => !own.has(variable)));
  return launchProcess(
    { command: program.execPath, args: [...flags, program.main, ...args], env },
    { write: (text) => lines.push(text), end: () => lines.end() },
  );
}

async function makeCertificates(place: Place, { bindAddress, externalHostname }: ShardedPlaceOptions): Promise<void> {
  const { frontProxy, cache, shards } = urlsOf(place);
  const isAddress = !['0.0.0.0', '::', ''].includes(bindAddress);
  await initClusterPki(
    {
      directory: place.pki,
      shardUrls: shards,
      externalUrl: place.externalUrl,
      frontProxyUrl: frontProxy,
      cacheUrl: cache,
      hosts: [
        hostname(),
        ...(isAddress ? [bindAddress] : []),
        ...(externalHostname === undefined ? [] : [externalHostname]),
      ],
      days: 365,
      authorityDays: 3650,
    },
    { renewKubeconfig: (existing, made) => mergeKubeconfig(existing, JSON.parse(made) as Kubeconfig) },
  );
}

/**
 * The one kubeconfig of the installation: the contexts of a single process, with certificates in place of its tokens. `root` and `base`
 * lead through the front-proxy, `shard-base` and `system:admin` to shard `root` with every right. What users added is kept.
 */
async function writeAdminKubeconfig(file: string, place: Place): Promise<void> {
  const base64 = async (...path: string[]): Promise<string> =>
    (await readFile(join(place.pki, ...path))).toString('base64');
  const authority = await base64('serving-ca.crt');
  const shard = urlsOf(place).shards['root'] as string;
  const cluster = (name: string, server: string) => ({
    name,
    cluster: { server, 'certificate-authority-data': authority },
  });
  const user = async (name: string) => ({
    name,
    user: {
      'client-certificate-data': await base64(name, 'tls.crt'),
      'client-key-data': await base64(name, 'tls.key'),
    },
  });
  const context = (name: string, of: string, as: string) => ({ name, context: { cluster: of, user: as } });
  const made: Kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      cluster('base', place.externalUrl),
      cluster('root', `${place.externalUrl}/clusters/root`),
      cluster('shard-base', shard),
      cluster('system:admin', `${shard}/clusters/system:admin`),
    ],
    users: [await user('kcp-admin'), await user('shard-admin')],
    contexts: [
      context('base', 'base', 'kcp-admin'),
      context('root', 'root', 'kcp-admin'),
      context('shard-base', 'shard-base', 'shard-admin'),
      context('system:admin', 'system:admin', 'shard-admin'),
    ],
    'current-context': 'root',
    preferences: {},
  };
  const existing = readIfPresent(file) ?? '';
  const text = existing.trim() === '' ? `${JSON.stringify(made, undefined, 2)}\n` : mergeKubeconfig(existing, made);
  if (text !== existing) await writeFileAtomic(file, text, 0o600);
  readKubeconfig(file);
}

/** Deletes the Shard objects of shards that were taken away; their cached objects go with them. */
async function forgetShards(
  rootDirectory: string,
  record: ShardedRecord,
  place: Place,
  { logger, signal }: { readonly logger: Logger; readonly signal: AbortSignal },
): Promise<void> {
  if (record.removed.length === 0) return;
  const config = readClientConfig({ file: join(place.pki, 'root-shard.kubeconfig') });
  const transport = new RestTransport({ config, userAgent: 'multiplane-start' });
  const client = new RestClient({ transport });
  const shards = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards' };
  try {
    for (const name of record.removed) {
      const deletion = async (): Promise<void> => {
        try {
          await client.delete(shards, { cluster: 'root' as never, namespace: '', name });
        } catch (error) {
          if (!isStatusError(error, 'NotFound')) throw error;
        }
      };
      await retry(deletion, { initial: 200, max: 10_000, signal }, { clock: systemClock });
      logger.info('shard has been removed', { name });
    }
    await writeRecord(rootDirectory, { ...record, removed: [] });
  } catch (error) {
    if (!signal.aborted) logger.warn('failed to delete the Shard objects of removed shards', { error });
  } finally {
    transport.close();
  }
}
