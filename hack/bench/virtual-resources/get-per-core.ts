import { RawConnection } from '../api/raw-client.ts';
import { perProcess, total, usageOf, idleRate, type Processes } from './usage.ts';

export interface GetPerCoreOptions {
  readonly port: number;
  readonly token: string;
  /** Paths of two objects of the same size. */
  readonly stored: string;
  readonly virtual: string;
}

export interface GetPerCore {
  /** Processor time of a GET of the stored object, divided by that of the virtual one. */
  readonly ratio: number;
  readonly note: string;
}

const clients = 16;
/** Requests of a round, and rounds of stored and virtual objects in turn. */
const gets = 2_000;
const warmUps = 3;
const rounds = 5;

/** GET of a virtual and of a stored object in turn, by the processor time of all processes. */
export async function getPerCore(
  { port, token, stored, virtual }: GetPerCoreOptions,
  processes: Processes,
): Promise<GetPerCore> {
  const idle = await idleRate(processes);
  const round = async (path: string): Promise<{ readonly each: number; readonly note: string }> => {
    const connections = await Promise.all(Array.from({ length: clients }, () => RawConnection.open(port)));
    const request = `GET ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\naccept: application/json\r\n\r\n`;
    const before = usageOf(processes);
    const began = performance.now();
    let begun = 0;
    await Promise.all(
      connections.map(async (connection) => {
        while (begun++ < gets) {
          const { status } = await connection.send(request);
          if (status !== 200) throw new Error(`${path} was answered with ${status}`);
        }
      }),
    );
    const after = usageOf(processes);
    const idled = (idle * (performance.now() - began)) / 1000;
    for (const connection of connections) connection.close();
    return { each: (total(after) - total(before) - idled) / gets, note: perProcess(before, after, gets) };
  };
  for (let warm = 0; warm < warmUps; warm++) for (const path of [stored, virtual]) await round(path);
  const pairs: GetPerCore[] = [];
  for (let n = 0; n < rounds; n++) {
    const [base, own] = [await round(stored), await round(virtual)];
    pairs.push({ ratio: base.each / own.each, note: `${own.note}; of a stored one: ${base.note}` });
  }
  pairs.sort((a, b) => a.ratio - b.ratio);
  return pairs[Math.floor(rounds / 2)] as GetPerCore;
}
