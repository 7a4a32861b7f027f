import {
  parseResourceVersion,
  ResourceVersionError,
  statusErrors,
  type JsonObject,
  type KubeObject,
  type ListOptions,
} from '@multiplane/apimachinery';
import { errorFrame } from '@multiplane/apiserver';
import type { Clock } from '@multiplane/component-base';
import type { RequestContext } from '@multiplane/generic-server';
import type { BoundSchema } from './bound-schemas.ts';
import type { SchemaChange, SchemaChangeLog } from './schema-change-log.ts';
import { encodeSchema, type ResponseFormat } from './schema-encoding.ts';

/** The schemas that are currently visible. */
export interface VisibleSchemas {
  /** By logical cluster and name. */
  readonly schemas: ReadonlyMap<string, BoundSchema>;
  /** Whether a change may affect the visible schemas. */
  isAffectedBy(change: SchemaChange): boolean;
}

export interface SchemaWatchModules {
  readonly changes: SchemaChangeLog;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called for each change. */
  readonly listVisible: () => VisibleSchemas;
}

const bookmarkEveryMs = 60_000;
const minTimeoutSeconds = 1_800;

/**
 * A watch of bound schemas:
 *
 * 1. A version that this server does not know, or after which a change affects the watcher, is expired (410): the
 *    client lists again. Without a version, and with `sendInitialEvents`, the watch starts with the current objects.
 * 2. Each change that affects the watcher is sent as the difference to the last state that was sent. Changes that
 *    arrive while the client does not read are coalesced.
 * 3. The watch ends with the client, the request timeout or the server.
 *
 * Events carry versions of the change log, because objects of several shards have no common resource version.
 */
export async function watchSchemas(
  context: RequestContext,
  format: ResponseFormat,
  options: ListOptions,
  modules: SchemaWatchModules,
): Promise<void> {
  const { changes, clock, listVisible } = modules;
  const { exchange } = context;
  const from = versionOf(options.resourceVersion);
  exchange.setHeader('content-type', format.negotiated.mediaType);
  exchange.upgradeToWebSocket?.();
  exchange.start(200);

  let visible = listVisible();
  const sendsInitialEvents = options.sendInitialEvents ?? from === 0;
  if (
    !sendsInitialEvents &&
    from !== 0 &&
    changes.since(from)?.some((change) => visible.isAffectedBy(change)) !== false
  ) {
    exchange.write(errorFrame(statusErrors.expired('The resourceVersion for the provided watch is too old.'), 'json'));
    exchange.end();
    return;
  }

  const watch = new Wakeable();
  let columns = true;
  const send = (type: string, object: KubeObject): boolean => {
    const text = encodeSchema(format, object, columns);
    columns = false;
    return exchange.write(Buffer.from(`{"type":"${type}","object":${text}}\n`));
  };
  const bookmark = (annotations?: Record<string, string>): boolean => {
    const metadata = {
      resourceVersion: String(changes.version),
      ...(annotations === undefined ? {} : { annotations }),
    };
    const { kind, group, version } = format.definition;
    return send('BOOKMARK', { kind, apiVersion: `${group}/${version}`, metadata });
  };
  let writable = true;
  if (sendsInitialEvents) {
    for (const schema of visible.schemas.values()) writable = send('ADDED', versioned(schema, changes.version));
    if (options.sendInitialEvents === true && options.allowWatchBookmarks)
      writable = bookmark({ 'k8s.io/initial-events-end': 'true' });
  }

  const stops = [
    changes.subscribe((change) => {
      if (visible.isAffectedBy(change)) watch.wake('change');
    }),
    onAbort(exchange.signal, () => watch.wake('end')),
    onAbort(context.signal, () => watch.wake('end')),
    runAfter(clock, timeoutMs(options, modules.random), () => watch.wake('end')),
    ...(options.allowWatchBookmarks ? [runEvery(clock, bookmarkEveryMs, () => watch.wake('bookmark'))] : []),
  ];
  try {
    for (;;) {
      if (!writable) await Promise.race([exchange.drained(), watch.ended]);
      const reasons = await watch.next();
      if (reasons.has('end')) break;
      if (reasons.has('change')) {
        const before = visible.schemas;
        visible = listVisible();
        for (const [type, schema] of differences(before, visible.schemas))
          writable = send(type, versioned(schema, changes.version));
      }
      if (reasons.has('bookmark')) writable = bookmark();
    }
  } finally {
    for (const stop of stops) stop();
  }
  if (!exchange.signal.aborted) exchange.end();
}

type Reason = 'change' | 'bookmark' | 'end';

/** Collects the reasons for the next iteration of a loop and wakes it. */
class Wakeable {
  #reasons = new Set<Reason>();
  #wake = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly ended: Promise<void> = this.#ended.promise;

  wake(reason: Reason): void {
    this.#reasons.add(reason);
    this.#wake.resolve();
    if (reason === 'end') this.#ended.resolve();
  }

  async next(): Promise<ReadonlySet<Reason>> {
    await this.#wake.promise;
    const reasons = this.#reasons;
    this.#reasons = new Set();
    this.#wake = Promise.withResolvers<void>();
    return reasons;
  }
}

function* differences(
  before: ReadonlyMap<string, BoundSchema>,
  after: ReadonlyMap<string, BoundSchema>,
): Generator<[type: string, schema: BoundSchema]> {
  for (const [key, schema] of before) {
    const uid = after.get(key)?.metadata.uid;
    if (uid !== schema.metadata.uid) yield ['DELETED', schema];
  }
  for (const [key, schema] of after) {
    const known = before.get(key);
    if (known === undefined || known.metadata.uid !== schema.metadata.uid) yield ['ADDED', schema];
    else if (known.metadata.resourceVersion !== schema.metadata.resourceVersion) yield ['MODIFIED', schema];
  }
}

function versioned(schema: BoundSchema, version: number): KubeObject {
  const object = schema as unknown as JsonObject;
  return {
    ...object,
    metadata: { ...(object['metadata'] as JsonObject), resourceVersion: String(version) },
  } as unknown as KubeObject;
}

/** The version that the client sent, 0 for none. An invalid one yields an untyped 500, as in Kubernetes. */
function versionOf(text: string): number {
  try {
    return parseResourceVersion(text);
  } catch (error) {
    if (error instanceof ResourceVersionError) throw statusErrors.untyped(error.message);
    throw error;
  }
}

const timeoutMs = ({ timeoutSeconds = 0 }: ListOptions, random: () => number): number =>
  (timeoutSeconds > 0 ? timeoutSeconds : minTimeoutSeconds * (1 + random())) * 1_000;

function onAbort(signal: AbortSignal, then: () => void): () => void {
  if (signal.aborted) then();
  signal.addEventListener('abort', then);
  return () => signal.removeEventListener('abort', then);
}

function runAfter(clock: Clock, ms: number, then: () => void): () => void {
  const timer = clock.after(ms, then);
  return () => timer.cancel();
}

function runEvery(clock: Clock, ms: number, then: () => void): () => void {
  let stop = runAfter(clock, ms, again);
  function again(): void {
    then();
    stop = runAfter(clock, ms, again);
  }
  return () => stop();
}
