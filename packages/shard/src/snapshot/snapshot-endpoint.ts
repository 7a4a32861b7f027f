import { mastersGroup, parseJson, statusErrors, type Json } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import { type Handler, type RequestContext, snapshotPath, writeMethodNotAllowed } from '@multiplane/generic-server';
import { saveSnapshot, type Storage, type WatchCache } from '@multiplane/storage';
import type { WorkspaceRestore } from './workspace-restore.ts';
import { saveWorkspace } from './workspace-snapshot.ts';

export interface SnapshotEndpointModules {
  readonly storage: Storage;
  /** Values are plain here. */
  readonly cache: WatchCache;
  /** Key prefixes of built-in kinds. */
  readonly builtIn: ReadonlySet<string>;
  readonly restore: WorkspaceRestore;
  readonly clock: Clock;
  /** Serves all other paths. */
  readonly next: Handler;
}

/** A part of a restore is at most this large: a MiB of objects, and one more object. */
const maxPartBytes = 4 << 20;
/** Names of logical clusters, for the last step of a restore. */
const maxFinishBytes = 1 << 20;

/**
 * Snapshots of this shard, for `multiplane snapshot` (docs/adr/0102-snapshots-through-the-shard.md and 0119):
 *
 *   GET /snapshot                       the store at one revision
 *   GET /snapshot?workspace=PATH        what this shard has of a workspace and its subtree, at one revision
 *   POST /snapshot?restore=ID           writes objects of a workspace that is being restored: a snapshot of at most 4 MiB
 *   POST /snapshot?restore=ID&finish=1  ends the restore of the logical clusters that the body names
 *
 * All of them reach the data of all tenants, so only `system:masters` may use them: no rule of RBAC, not even one in `root`,
 * gives access. They do not exist below `/clusters/`. One snapshot of the store at a time.
 */
export function snapshotEndpoint(
  { shard, backend }: { readonly shard: string; readonly backend: string },
  { storage, cache, builtIn, restore, clock, next }: SnapshotEndpointModules,
): Handler {
  let running = false;
  return async (context) => {
    const { info, exchange, user } = context;
    if (info.path !== snapshotPath || info.cluster !== undefined) return next(context);
    if (!user.groups.includes(mastersGroup))
      throw statusErrors.forbidden({ group: '', resource: '' }, '', 'snapshots require the group system:masters');
    if (exchange.method === 'POST') return respondJson(context, await restorePart(context, restore));
    if (exchange.method !== 'GET') return writeMethodNotAllowed(context);
    if (running) throw statusErrors.tooManyRequests('a snapshot is being taken', 5);
    running = true;
    try {
      const header = { shard, backend, createdAt: new Date(clock.now()).toISOString() };
      const workspace = info.query.get('workspace');
      const chunks =
        workspace === null
          ? saveSnapshot(storage, header)
          : saveWorkspace({ ...header, path: workspace }, { cache, builtIn });
      await send(context, chunks);
    } finally {
      running = false;
    }
  };
}

async function restorePart({ info, exchange }: RequestContext, restore: WorkspaceRestore): Promise<Json> {
  const id = info.query.get('restore') ?? '';
  if (!/^[0-9a-f]{16,64}$/.test(id)) throw statusErrors.badRequest('the parameter restore must be a hexadecimal ID');
  if (!info.query.has('finish')) return { ...(await restore.write(id, await exchange.readBody(maxPartBytes))) };
  const names = parseJson(await exchange.readBody(maxFinishBytes));
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw statusErrors.badRequest('the body must be a list of keys');
  return { finished: await restore.finish(id, names) };
}

function respondJson({ exchange }: RequestContext, body: Json): void {
  exchange.setHeader('content-type', 'application/json');
  exchange.respond(200, JSON.stringify(body));
}

/** A failure before the first chunk is an error response; later the connection is cut, and the client sees no trailer. */
async function send({ exchange }: RequestContext, chunks: AsyncGenerator<Buffer, void, undefined>): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (!exchange.headersSent) {
        exchange.setHeader('content-type', 'application/octet-stream');
        exchange.setHeader('cache-control', 'no-store');
        exchange.start(200);
      }
      if (!exchange.write(chunk)) await exchange.drained();
      if (exchange.signal.aborted) return;
    }
    exchange.end();
  } catch (error) {
    if (!exchange.headersSent) throw error;
    exchange.destroy();
  }
}
