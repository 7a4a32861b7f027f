import { isStatusError } from '@multiplane/apimachinery';
import type { Negotiated } from '@multiplane/generic-server';
import type { ObjectLocation } from '@multiplane/storage';
import type { WriteResult } from '../write-path/write-result.ts';
import { respondCurrent, type ReadModules } from './read-endpoints.ts';
import type { ResourceRequest } from './resource-request.ts';

/** Waits until a new object has reached its final state, such as Ready; false after `ms` or if `signal` aborts. */
export type CreateOutcome = (location: ObjectLocation, ms: number, signal: AbortSignal) => Promise<boolean>;

/** Keys: `<group>/<resource>`. */
export type CreateOutcomes = ReadonlyMap<string, CreateOutcome>;

/** Upper bound of the wait: a waiting request counts towards the limit of mutating requests in flight. */
const maxWaitMs = 5_000;

/** The wait of the header `Prefer: wait=<seconds>` (RFC 7240, section 4.3) in milliseconds; 0 if absent. */
export function preferredWaitMs(header: string | readonly string[] | undefined): number {
  if (header === undefined) return 0;
  for (const preference of header.toString().split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;|$)/i.exec(preference)?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds) * 1000, maxWaitMs);
  }
  return 0;
}

/** Responds to a create with the object in its final state, if the client prefers to wait; false: no response was sent. */
export async function respondOutcome(
  modules: ReadModules & { readonly outcomes?: CreateOutcomes | undefined },
  request: ResourceRequest,
  negotiated: Negotiated,
  { object, revision }: WriteResult,
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
    // Deleted meanwhile: the response is the created object.
    if (isStatusError(error, 'NotFound')) return false;
    throw error;
  }
}
