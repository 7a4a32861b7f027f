import { isStatusError } from '@multiplane/apimachinery';
import type { ObjectLocation } from '@multiplane/storage';
import type { Written } from '../registry/write-request.ts';
import type { Negotiated } from './negotiation.ts';
import { respondCurrent, type ReadModules } from './read-object.ts';
import type { ResourceRequest } from './resource-request.ts';

/** Waits until something has become of a new object; false when that takes longer than `ms` or nobody waits any more. */
export type CreateOutcome = (location: ObjectLocation, ms: number, signal: AbortSignal) => Promise<boolean>;

/** Keys: `<group>/<resource>`. */
export type CreateOutcomes = ReadonlyMap<string, CreateOutcome>;

/** However long a client would wait: it holds one of the places for requests that change something. */
const longestWaitMs = 5_000;

/** How long a client would rather wait for an outcome than come again (RFC 7240, 4.3): milliseconds, 0 for not at all. */
export function preferredWaitMs(header: string | readonly string[] | undefined): number {
  if (header === undefined) return 0;
  for (const preference of header.toString().split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;|$)/i.exec(preference)?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds) * 1000, longestWaitMs);
  }
  return 0;
}

/** Answers a create with what became of the object, where the client prefers to wait for that; false: nothing is answered. */
export async function respondOutcome(
  modules: ReadModules & { readonly outcomes?: CreateOutcomes | undefined },
  request: ResourceRequest,
  negotiated: Negotiated,
  { object, revision }: Written,
): Promise<boolean> {
  const { context, definition, namespace } = request;
  const outcome = modules.outcomes?.get(`${definition.group}/${definition.resource}`);
  const waitMs = preferredWaitMs(context.exchange.headers['prefer']);
  if (outcome === undefined || waitMs === 0 || request.cluster === '*') return false;
  const location: ObjectLocation = { cluster: request.cluster, namespace, name: object.metadata.name ?? '' };
  if (!(await outcome(location, waitMs, context.signal))) return false;
  try {
    await respondCurrent(modules, request, negotiated, 201, modules.store.get(definition, location, revision));
    return true;
  } catch (error) {
    // It came and went: the answer is what was made.
    if (isStatusError(error, 'NotFound')) return false;
    throw error;
  }
}
