/**
 * Waits until the server that a kubeconfig names answers /readyz with 200, and trusts it as kubectl will.
 * Usage: wait-ready.ts <kubeconfig> <pid of the server>
 */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { healthAt } from '../packages/multiplane/src/topology/index.ts';

const [kubeconfig = '', pid = ''] = process.argv.slice(2);
const deadline = performance.now() + 120_000;
const started = performance.now();
let reported = '';

for (;;) {
  const state = await look();
  if (state === 'ready') break;
  if (state !== reported) console.log(`      ${state}`);
  reported = state;
  if (!isAlive(Number(pid))) fail('The process has ended.');
  if (performance.now() > deadline) fail('Not ready within 2 minutes.');
  await wait(100);
}
console.log(`      ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

async function look(): Promise<string> {
  if (!existsSync(kubeconfig)) return 'starting';
  // A few fields of a file that we wrote ourselves; a YAML reader is not worth a dependency of this script.
  const text = readFileSync(kubeconfig, 'utf8');
  const server = /^\s*"?server"?:\s*"?(https:[^\s"]+)/m.exec(text)?.[1];
  const ca = /^\s*"?certificate-authority-data"?:\s*"?([\w+/=]+)/m.exec(text)?.[1];
  if (server === undefined) return 'starting';
  return await healthAt(`${server}/readyz`, () => (ca === undefined ? undefined : Buffer.from(ca, 'base64')));
}

function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch {
    return false;
  }
}
