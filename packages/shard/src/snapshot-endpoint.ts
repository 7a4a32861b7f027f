import { mastersGroup, statusErrors } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import { type Handler, type RequestContext, snapshotPath, writeMethodNotAllowed } from '@multiplane/generic-server';
import { saveSnapshot, type Storage } from '@multiplane/storage';

export interface SnapshotEndpointModules {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Serves all other paths. */
  readonly next: Handler;
}

/**
 * `GET /snapshot`: the store of this shard at one revision, as `multiplane snapshot save` writes it to a file
 * (docs/adr/0102-snapshots-through-the-shard.md). It contains the data of all tenants, so only `system:masters` may read it:
 * no rule of RBAC, not even one in `root`, gives access. It does not exist below `/clusters/`. One snapshot at a time.
 */
export function snapshotEndpoint(
  { shard, backend }: { readonly shard: string; readonly backend: string },
  { storage, clock, next }: SnapshotEndpointModules,
): Handler {
  let running = false;
  return async (context) => {
    const { info, exchange, user } = context;
    if (info.path !== snapshotPath || info.cluster !== undefined) return next(context);
    if (exchange.method !== 'GET') return writeMethodNotAllowed(context);
    if (!user.groups.includes(mastersGroup))
      throw statusErrors.forbidden({ group: '', resource: '' }, '', 'snapshots require the group system:masters');
    if (running) throw statusErrors.tooManyRequests('a snapshot is being taken', 5);
    running = true;
    try {
      const createdAt = new Date(clock.now()).toISOString();
      await send(context, saveSnapshot(storage, { shard, backend, createdAt }));
    } finally {
      running = false;
    }
  };
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
