/**
 * Starts and stops a sharded control plane on this machine: two shards, each on its own etcd, NATS, a cache server, a
 * virtual-workspaces server per shard and the front-proxy, as plain processes.
 *
 * Usage: sharded.ts up|down|status      (hack/up and hack/down call it)
 *   MULTIPLANE_ROOT_DIRECTORY   where everything lies (default .multiplane), below it in sharded/
 *   MULTIPLANE_SHARDS           names of the shards (default root,shard-1)
 *   MULTIPLANE_FIRST_PORT       ports from this one on, instead of the usual ones
 *   MULTIPLANE_NATS_CONFIG      a configuration file of nats-server, as one with its encryption key (docs/operate.md)
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  askHealth,
  type ClusterProcess,
  localPlace,
  pkiArguments,
  portNames,
  preparePlace,
  topology,
} from '../../packages/multiplane/src/topology/index.ts';
import { runningPid, startInBackground, stopProcess, type ProcessFiles } from './running-process.ts';

const startTimeoutMs = 120_000;
const stopGraceMs = 60_000;
const repository = join(import.meta.dirname, '..', '..');
const directory = resolve(process.env['MULTIPLANE_ROOT_DIRECTORY'] ?? join(repository, '.multiplane'), 'sharded');
const runFolder = join(directory, 'run');
const logFolder = join(directory, 'log');
const adminKubeconfig = join(directory, 'pki', 'admin.kubeconfig');

async function up(): Promise<void> {
  const processes = planned();
  const missing = processes.filter((each) => pidOf(each) === undefined);
  if (missing.length === 0) {
    console.log(`A sharded control plane runs already (${processes.length} processes); stop it with 'make down'.`);
    console.log(`kubeconfig: ${adminKubeconfig}`);
    return;
  }
  for (const each of missing) await mustBeFree(each);
  for (const folder of [directory, runFolder, logFolder]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  console.log('Certificates …');
  const place = placeOf();
  execFileSync(join(repository, 'bin', 'multiplane'), [...pkiArguments(place)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  preparePlace(place);
  // What runs and what was asked for must not drift apart between two calls.
  writeFileSync(join(directory, 'shards'), `${place.shards.join(',')}\n`);

  const began = performance.now();
  const state = { done: 0 };
  const ready = new Map<string, Promise<void>>();
  for (const each of processes) {
    const needed = each.needs.map((name) => ready.get(name) as Promise<void>);
    ready.set(
      each.name,
      Promise.all(needed).then(() => bringUp(each, state, processes.length)),
    );
  }
  const failures = (await Promise.allSettled(ready.values())).filter((result) => result.status === 'rejected');
  if (failures.length > 0) {
    const reasons = [...new Set(failures.map(({ reason }) => (reason as Error).message))];
    console.error(reasons.join('\n'));
    await down();
    throw new Error(`The control plane did not become ready. Logs: ${logFolder}/`);
  }
  console.log(`\nmultiplane is ready after ${seconds(began)}: ${processes.length} processes, logs in ${logFolder}/`);
  const link = loginLink(place);
  console.log(`kubeconfig: ${adminKubeconfig}
The web console; this link logs you in once, within ten minutes:

  ${link}

Try:

  export KUBECONFIG=${adminKubeconfig} PATH="${join(repository, 'bin')}:$PATH"
  kubectl create workspace team-a --enter   # on whichever shard has room
  kubectl create configmap hello --from-literal=from=team-a
  kubectl --context root get shards
  kubectl ws tree

Stop it with 'make down'.`);
}

/** A link that holds a certificate of one day, not the one of the administrator's kubeconfig. */
function loginLink(place: ReturnType<typeof localPlace>): string {
  const multiplane = join(repository, 'bin', 'multiplane');
  const issue = [
    'pki',
    'issue',
    'console-link',
    `--directory=${place.pki}`,
    '--user=kcp-admin',
    '--groups=system:kcp:admin',
  ];
  execFileSync(multiplane, [...issue, '--days=1', '--force'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const port = topology(place).find(({ kind }) => kind === 'console')?.port;
  const args = [
    `--kubeconfig=${adminKubeconfig}`,
    `--console-url=https://localhost:${port}`,
    `--client-certificate=${place.pki}/console-link/tls.crt`,
    `--client-key=${place.pki}/console-link/tls.key`,
  ];
  return execFileSync(multiplane, ['console-link', ...args], { encoding: 'utf8' }).trim();
}

async function bringUp(each: ClusterProcess, state: { done: number }, total: number): Promise<void> {
  const began = performance.now();
  const files = filesOf(each);
  const already = pidOf(each);
  const pid = already ?? startInBackground(programOf(each), each.args, files);
  let said = 'starting';
  while (said !== 'ready') {
    if (pidOf(each) === undefined && !(await isStarting(pid)))
      throw new Error(`${each.name} has ended:\n${tail(files)}`);
    if (performance.now() - began > startTimeoutMs)
      throw new Error(`${each.name} is ${said} after ${seconds(began)}:\n${tail(files)}`);
    await wait(50);
    said = await askHealth(each.health);
  }
  state.done++;
  const how = already === undefined ? `ready after ${seconds(began)}` : 'ran already';
  console.log(`[${state.done}/${total}] ${each.name.padEnd(26)} ${how.padEnd(20)} port ${each.port}`);
}

async function down(): Promise<void> {
  // In reverse order, so that no process loses a dependency before it exits.
  const running = planned()
    .toReversed()
    .filter((each) => pidOf(each) !== undefined);
  if (running.length === 0) {
    console.log('No sharded control plane runs.');
    return;
  }
  console.log(`Stopping ${running.length} processes …`);
  const stubborn: string[] = [];
  const gone = new Map<string, Promise<void>>();
  for (const each of running) {
    const dependants = running
      .filter(({ needs }) => needs.includes(each.name))
      .map(({ name }) => gone.get(name) as Promise<void>);
    const stop = async (): Promise<void> => {
      await Promise.all(dependants);
      const pid = pidOf(each);
      if (pid !== undefined && !(await stopProcess(pid, filesOf(each), markOf(each), stopGraceMs)))
        stubborn.push(each.name);
    };
    gone.set(each.name, stop());
  }
  await Promise.all(gone.values());
  if (stubborn.length > 0)
    throw new Error(`${stubborn.join(', ')} did not stop within ${stopGraceMs / 1000} s and was killed.`);
  console.log(`Stopped. Data is in ${directory}/; 'make up PROFILE=sharded' continues with it.`);
}

async function status(): Promise<void> {
  for (const each of planned()) {
    const pid = pidOf(each);
    const said = pid === undefined ? 'does not run' : `${await askHealth(each.health)} (pid ${pid})`;
    console.log(`${each.name.padEnd(26)} ${said}`);
  }
}

function placeOf(): ReturnType<typeof localPlace> {
  const noted = join(directory, 'shards');
  const shards =
    process.env['MULTIPLANE_SHARDS'] ?? (existsSync(noted) ? readFileSync(noted, 'utf8').trim() : 'root,shard-1');
  const first = process.env['MULTIPLANE_FIRST_PORT'];
  const natsConfig = process.env['MULTIPLANE_NATS_CONFIG'];
  const names = shards.split(',');
  return localPlace({
    directory,
    shards: names,
    hasConsole: true,
    ...(natsConfig === undefined ? {} : { flags: { nats: [`--config=${resolve(natsConfig)}`] } }),
    ports: first === undefined ? undefined : portNames(names).map((_name, index) => Number(first) + index),
  });
}

function planned(): readonly ClusterProcess[] {
  return topology(placeOf());
}

const filesOf = ({ name }: ClusterProcess): ProcessFiles => ({
  pidFile: join(runFolder, `${name}.pid`),
  logFile: join(logFolder, `${name}.log`),
});
/** Only its own arguments contain the path of its certificate. */
const markOf = ({ name }: ClusterProcess): string => `=${join(directory, 'pki', name, 'tls.crt')} `;
const pidOf = (each: ClusterProcess): number | undefined => runningPid(filesOf(each), markOf(each));

/** A launcher that has not yet become the program itself. */
async function isStarting(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
    await wait(20);
    return true;
  } catch {
    return false;
  }
}

function programOf({ program }: ClusterProcess): string {
  if (program === 'multiplane') return join(repository, 'bin', 'multiplane');
  const unpacked = join(repository, '.cache', 'servers', 'usr');
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), join(unpacked, 'bin'), join(unpacked, 'sbin')];
  const found = folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${program} is not on the PATH; hack/servers fetches it`);
  return found;
}

async function mustBeFree({ name, port }: ClusterProcess): Promise<void> {
  const taken = await new Promise<boolean>((answer) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy();
      answer(true);
    }).on('error', () => answer(false));
  });
  if (taken)
    throw new Error(
      `Port ${port}, which ${name} needs, is taken. Is another control plane running ('make down')? MULTIPLANE_FIRST_PORT=<n> takes other ports.`,
    );
}

function tail({ logFile }: ProcessFiles): string {
  const text = existsSync(logFile) ? readFileSync(logFile, 'utf8') : '';
  return text.split('\n').slice(-15).join('\n');
}

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;

const commands: Readonly<Record<string, () => Promise<void>>> = { up, down, status };
const command = commands[process.argv[2] ?? ''];
if (command === undefined) throw new Error('usage: sharded.ts up|down|status');
try {
  await command();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
