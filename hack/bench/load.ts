import { setTimeout as wait } from 'node:timers/promises';
import type { Json, JsonObject } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';

/** Does `count` jobs as fast as so many clients do them. */
export async function many(count: number, clients: number, job: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: clients }, client));
}

/** Does `count` jobs, each begun at its time whatever became of those before. */
export async function atRate(count: number, perSecond: number, job: (n: number) => Promise<unknown>): Promise<void> {
  const began = performance.now();
  const running: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    const pause = began + (index * 1000) / perSecond - performance.now();
    if (pause > 0) await wait(pause);
    running.push(job(index));
  }
  await Promise.all(running);
}

export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await wait(50);
}

export async function get<T>(transport: RestTransport, path: string): Promise<T> {
  return (await transport.json({ method: 'GET', path })) as unknown as T;
}

export function post(transport: RestTransport, path: string, body: object): Promise<Json> {
  return transport.json({ method: 'POST', path, body: JSON.stringify(body) });
}

interface Workspaces {
  readonly items: readonly {
    readonly spec: { readonly cluster: string };
    readonly status?: { readonly phase?: string };
  }[];
}

export const workspacesIn = (parent: string): string => `/clusters/${parent}/apis/tenancy.kcp.io/v1alpha1/workspaces`;

/** A workspace of type universal, with a label by which all of a prefix are found. */
export const newWorkspace = (prefix: string, index: number, spec: JsonObject = {}) => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name: `${prefix}-${index}`, labels: { bench: prefix } },
  spec: { type: { name: 'universal', path: 'root' }, ...spec },
});

/** Makes workspaces of type universal below `parent`, by so many clients; their logical clusters, once all are ready. */
export async function readyWorkspaces(
  transport: RestTransport,
  parent: string,
  {
    count,
    clients,
    prefix = 'w',
    spec = {},
  }: { readonly count: number; readonly clients: number; readonly prefix?: string; readonly spec?: JsonObject },
): Promise<string[]> {
  const path = workspacesIn(parent);
  await many(count, clients, (index) => post(transport, path, newWorkspace(prefix, index, spec)));
  const ofPrefix = `${path}?labelSelector=bench%3D${prefix}`;
  let found: string[] = [];
  await until(async () => {
    // One that is not ready yet says enough: the whole list, again and again, would be much of what is measured.
    const waiting = await get<Workspaces>(transport, `${ofPrefix},tenancy.kcp.io%2Fphase%21%3DReady&limit=1`);
    if (waiting.items.length > 0) return false;
    const { items } = await get<Workspaces>(transport, ofPrefix);
    found = items.flatMap(({ spec: { cluster }, status }) => (status?.phase === 'Ready' ? [cluster] : []));
    return found.length === count;
  });
  return found;
}
