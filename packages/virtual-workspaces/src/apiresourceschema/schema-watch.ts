import {
  parseResourceVersion,
  ResourceVersionError,
  statusErrors,
  type JsonObject,
  type KubeObject,
  type ListOptions,
} from '@multiplane/apimachinery';
import { errorFrame, type RequestContext } from '@multiplane/apiserver';
import type { Clock } from '@multiplane/component-base';
import type { BoundSchema } from './bound-schemas.ts';
import type { SchemaChange, SchemaChanges } from './schema-changes.ts';
import { objectText, type AnswerForm } from './schema-frames.ts';

/** What is seen at the moment. */
export interface SeenSchemas {
  /** By where they live. */
  readonly schemas: ReadonlyMap<string, BoundSchema>;
  /** Whether a change may change that. */
  concerns(change: SchemaChange): boolean;
}

export interface SchemaWatchModules {
  readonly changes: SchemaChanges;
  readonly clock: Clock;
  readonly random: () => number;
  /** Read anew for each change. */
  readonly look: () => SeenSchemas;
}

const bookmarkEveryMs = 60_000;
const minTimeoutSeconds = 1_800;

/**
 * A watch of bound schemas (C8.3, K3.4).
 *
 *  1. A version that this server does not know, or after which something happened that may concern the watcher, is too
 *     old: the client lists again. Without a version, and where it asks for them, it is told first what is there.
 *  2. Each change that may concern it is answered with the difference to what it was told last. Changes that come while
 *     the client does not read are told together.
 *  3. Until the client goes, its time is over or the server stops.
 *
 * Events carry versions of the view: objects of several shards have none in common.
 */
export async function watchSchemas(
  context: RequestContext,
  form: AnswerForm,
  options: ListOptions,
  modules: SchemaWatchModules,
): Promise<void> {
  const { changes, clock, look } = modules;
  const { exchange } = context;
  const from = versionOf(options.resourceVersion);
  exchange.setHeader('content-type', form.negotiated.mediaType);
  exchange.upgradeToWebSocket?.();
  exchange.start(200);

  let seen = look();
  const tells = options.sendInitialEvents ?? from === 0;
  if (!tells && from !== 0 && changes.since(from)?.some((change) => seen.concerns(change)) !== false) {
    exchange.write(errorFrame(statusErrors.expired('The resourceVersion for the provided watch is too old.'), 'json'));
    exchange.end();
    return;
  }

  const watch = new Wakeable();
  let columns = true;
  const tell = (type: string, object: KubeObject): boolean => {
    const text = objectText(form, object, columns);
    columns = false;
    return exchange.write(Buffer.from(`{"type":"${type}","object":${text}}\n`));
  };
  const bookmark = (annotations?: Record<string, string>): boolean => {
    const metadata = {
      resourceVersion: String(changes.version),
      ...(annotations === undefined ? {} : { annotations }),
    };
    const { kind, group, version } = form.definition;
    return tell('BOOKMARK', { kind, apiVersion: `${group}/${version}`, metadata });
  };
  let room = true;
  if (tells) {
    for (const schema of seen.schemas.values()) room = tell('ADDED', versioned(schema, changes.version));
    if (options.sendInitialEvents === true && options.allowWatchBookmarks)
      room = bookmark({ 'k8s.io/initial-events-end': 'true' });
  }

  const stops = [
    changes.subscribe((change) => {
      if (seen.concerns(change)) watch.wake('change');
    }),
    onAbort(exchange.signal, () => watch.wake('end')),
    onAbort(context.signal, () => watch.wake('end')),
    afterwards(clock, timeoutMs(options, modules.random), () => watch.wake('end')),
    ...(options.allowWatchBookmarks ? [repeatedly(clock, bookmarkEveryMs, () => watch.wake('bookmark'))] : []),
  ];
  try {
    for (;;) {
      if (!room) await Promise.race([exchange.drained(), watch.ended]);
      const reasons = await watch.next();
      if (reasons.has('end')) break;
      if (reasons.has('change')) {
        const before = seen.schemas;
        seen = look();
        for (const [type, schema] of differences(before, seen.schemas))
          room = tell(type, versioned(schema, changes.version));
      }
      if (reasons.has('bookmark')) room = bookmark();
    }
  } finally {
    for (const stop of stops) stop();
  }
  if (!exchange.signal.aborted) exchange.end();
}

type Reason = 'change' | 'bookmark' | 'end';

/** Collects why a loop must go on, and wakes it. */
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

/** The version that the client named, 0 for none. Not a number: an untyped 500, as upstream. */
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

function afterwards(clock: Clock, ms: number, then: () => void): () => void {
  const timer = clock.after(ms, then);
  return () => timer.cancel();
}

function repeatedly(clock: Clock, ms: number, then: () => void): () => void {
  let stop = afterwards(clock, ms, again);
  function again(): void {
    then();
    stop = afterwards(clock, ms, again);
  }
  return () => stop();
}
