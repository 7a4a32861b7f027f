import { setTimeout as delay } from 'node:timers/promises';
import { ProcessInfo } from '@multiplane/testing';
import { RawConnection } from '../api/raw-client.ts';

/*
 * A tenant with little to do: `neighbour.ts PORT TOKEN WORKSPACE PID MILLISECONDS`. Sends GET and PATCH in turn and prints
 * the latencies of each in milliseconds, the processor time that the main thread of the server used meanwhile, both sorted,
 * and the statuses of failed requests.
 */
const [port = '', token = '', workspace = '', pid = '', milliseconds = ''] = process.argv.slice(2);
const path = `/clusters/${workspace}/api/v1/namespaces/default/configmaps/mine`;
const request = (method: string, ...rest: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'host: bench', `authorization: Bearer ${token}`, ...rest].join('\r\n');
const get = request('GET', '', '');
const patch = (n: number): string => {
  const body = JSON.stringify({ metadata: { annotations: { 'bench/sent': String(n) } } });
  return request('PATCH', 'content-type: application/merge-patch+json', `content-length: ${body.length}`, '', body);
};

const took: Record<'get' | 'patch', number[]> = { get: [], patch: [] };
const work: Record<'get' | 'patch', number[]> = { get: [], patch: [] };
/** Processor time of the server's main thread in milliseconds: unlike latency it does not depend on other programs. */
const info = new ProcessInfo();
const worked = (): number => info.mainThreadMs(Number(pid));
const failures: Record<string, number> = {};
const deadline = performance.now() + Number(milliseconds);

async function client(): Promise<void> {
  let connection = await RawConnection.open(Number(port));
  for (let n = 0; performance.now() < deadline; n++) {
    const kind = n % 2 === 0 ? 'get' : 'patch';
    const workedBefore = worked();
    const began = performance.now();
    const outcome = await Promise.race([
      connection.send(kind === 'get' ? get : patch(n)).then(
        ({ status }) => String(status),
        () => 'closed',
      ),
      delay(10_000, 'timeout'),
    ]);
    took[kind].push(performance.now() - began);
    work[kind].push(worked() - workedBefore);
    if (outcome !== '200') {
      failures[outcome] = (failures[outcome] ?? 0) + 1;
      connection.close();
      connection = await RawConnection.open(Number(port));
    }
    await delay(10);
  }
  connection.close();
}

await Promise.all([client(), client(), client(), client()]);
for (const list of [...Object.values(took), ...Object.values(work)]) list.sort((a, b) => a - b);
// Exits when all is written: a pipe holds less than the figures of a longer run.
process.stdout.write(JSON.stringify({ took, work, failures }), () => process.exit(0));
