import { statusErrors } from '@multiplane/apimachinery';
import type { Clock } from '@multiplane/component-base';
import { type Handler, type RequestContext, writeNotFoundText } from '@multiplane/generic-server';
import {
  cachePrefix,
  encodeFrame,
  isStorageError,
  parseCacheKey,
  progressIntervalMs,
  remoteStoragePath,
  writtenError,
  type Storage,
} from '@multiplane/storage';

export interface StorageEndpointModules {
  readonly storage: Pick<Storage, 'create' | 'update' | 'delete' | 'list' | 'watch' | 'check'>;
  readonly clock: Clock;
}

/** Objects have at most 3 MiB. */
const maxValueBytes = 16 * 1024 * 1024;

/** True for a path whose request lasts as long as the client wants. */
export const isStorageStream = (path: string): boolean =>
  path === `${remoteStoragePath}watch` || path === `${remoteStoragePath}list`;

/**
 * The store of cached objects for the shards that publish into it, when it belongs to this server (`RemoteStorage` is the
 * client):
 *
 *   POST /storage/create?key=             stores the body
 *   POST /storage/update?key=&expected=   replaces the value of that revision
 *   POST /storage/delete?key=&expected=
 *   GET  /storage/list?prefix=&limit=&from=&revision=
 *   GET  /storage/watch?prefix=&after=
 *   GET  /storage/check
 *
 * It reaches the objects of all shards, like everything that this server serves: only `system:masters` may use it.
 */
export function storageEndpoint(modules: StorageEndpointModules): Handler {
  return async (context) => {
    const { exchange, info } = context;
    const operation = operations[`${exchange.method} ${info.path.slice(remoteStoragePath.length)}`];
    if (operation === undefined) return writeNotFoundText(exchange);
    try {
      await operation(context, modules);
    } catch (error) {
      if (exchange.headersSent) {
        exchange.write(encodeFrame({ error: writtenError(error) }));
        exchange.end();
      } else if (isStorageError(error)) {
        respondJson(context, 409, { storageError: writtenError(error) });
      } else {
        throw error;
      }
    }
  };
}

type Operation = (context: RequestContext, modules: StorageEndpointModules) => Promise<void>;

const operations: Readonly<Record<string, Operation>> = {
  'POST create': async (context, { storage }) => {
    const key = keyOf(context);
    const revision = await storage.create(key, await context.exchange.readBody(maxValueBytes));
    respondJson(context, 200, { revision });
  },
  'POST update': async (context, { storage }) => {
    const [key, expected] = [keyOf(context), numberOf(context, 'expected')];
    const revision = await storage.update(key, await context.exchange.readBody(maxValueBytes), expected);
    respondJson(context, 200, { revision });
  },
  'POST delete': async (context, { storage }) => {
    respondJson(context, 200, { revision: await storage.delete(keyOf(context), numberOf(context, 'expected')) });
  },
  'GET list': async (context, { storage }) => {
    const { query } = context.info;
    const { items, revision, remaining } = await storage.list(prefixOf(context), {
      limit: query.has('limit') ? numberOf(context, 'limit') : undefined,
      from: query.get('from') ?? undefined,
      revision: query.has('revision') ? numberOf(context, 'revision') : undefined,
      skipRemainingCount: query.has('skipRemainingCount'),
    });
    start(context);
    await write(context, encodeFrame({ list: { revision, remaining } }));
    for (const item of items) {
      if (context.signal.aborted) return;
      await write(context, encodeFrame({ key: item.key, revision: item.revision }, item.value));
    }
    context.exchange.write(encodeFrame({ end: true }));
    context.exchange.end();
  },
  'GET watch': watch,
  'GET check': async (context, { storage }) => {
    await storage.check();
    respondJson(context, 200, {});
  },
};

async function watch(context: RequestContext, { storage, clock }: StorageEndpointModules): Promise<void> {
  const { exchange, signal } = context;
  const after = numberOf(context, 'after');
  const batches = storage.watch(prefixOf(context), {
    after,
    signal,
    restoresKeys: context.info.query.has('restoresKeys'),
  });
  start(context);
  let revision = after;
  let isWriting = false;
  const progress = (): ReturnType<Clock['after']> =>
    clock.after(progressIntervalMs, () => {
      // Not between the events of a batch, which it would end.
      if (!isWriting) exchange.write(encodeFrame({ batch: revision }));
      timer = progress();
    });
  let timer = progress();
  try {
    for await (const batch of batches) {
      isWriting = true;
      for (const { type, key, revision: changed, created, value } of batch.events) {
        await write(
          context,
          encodeFrame({ type, key, revision: changed, created }, type === 'put' ? value : undefined),
        );
        if (signal.aborted) return;
      }
      ({ revision } = batch);
      await write(context, encodeFrame({ batch: revision }));
      isWriting = false;
    }
    exchange.end();
  } finally {
    timer.cancel();
  }
}

function start({ exchange }: RequestContext): void {
  exchange.setHeader('content-type', 'application/octet-stream');
  exchange.setHeader('cache-control', 'no-store');
  exchange.start(200);
}

async function write({ exchange }: RequestContext, chunk: Buffer): Promise<void> {
  if (!exchange.write(chunk)) await exchange.drained();
}

function respondJson({ exchange }: RequestContext, status: number, body: object): void {
  exchange.setHeader('content-type', 'application/json');
  exchange.respond(status, JSON.stringify(body));
}

function keyOf({ info }: RequestContext): string {
  const key = info.query.get('key') ?? '';
  if (parseCacheKey(key) === undefined)
    throw statusErrors.badRequest('the parameter key must be the key of a cached object');
  return key;
}

function prefixOf({ info }: RequestContext): string {
  const prefix = info.query.get('prefix') ?? '';
  if (!prefix.startsWith(cachePrefix) || !prefix.endsWith('/'))
    throw statusErrors.badRequest('the parameter prefix must be a prefix of cached objects');
  return prefix;
}

function numberOf({ info }: RequestContext, name: string): number {
  const value = Number(info.query.get(name) ?? Number.NaN);
  if (!Number.isSafeInteger(value) || value < 0)
    throw statusErrors.badRequest(`the parameter ${name} must be a whole number`);
  return value;
}
