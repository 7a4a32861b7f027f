import type { RequestInfo } from '../request/request-info.ts';

/** As in kube-apiserver (apiserver/pkg/util/flowcontrol/request). */
const objectsPerSeat = 100;
const maxListSeats = 10;
const watchesPerSeat = 10;
const eventMs = 5;
/** Decoding, merging and encoding a body of this size takes about as long as a list of a hundred objects. */
const bodyBytesPerSeat = 32 * 1024;
/** Fewer than of lists: larger bodies are read and validated in worker threads, which have queues of their own. */
const maxBodySeats = 4;

export interface WorkEstimateModules {
  /** Objects that a list or watch may read; undefined if unknown. */
  readonly objectCount?: ((info: RequestInfo) => number | undefined) | undefined;
  /** Watches that receive the event of a write. */
  readonly watchers: (info: RequestInfo) => number;
}

/** Estimates the seats of requests and the work that follows from writes. */
export class WorkEstimator {
  readonly #modules: WorkEstimateModules;

  constructor(modules: WorkEstimateModules) {
    this.#modules = modules;
  }

  /** Seats of a request, at most `max`: one, for lists and watches with initial events one per hundred objects. */
  seats(info: RequestInfo, max: number): number {
    if (!info.isResourceRequest || info.name !== '') return 1;
    const { verb, query } = info;
    if (verb !== 'list' && verb !== 'deletecollection' && !(verb === 'watch' && sendsInitialEvents(query))) return 1;
    const stored = this.#modules.objectCount?.(info) ?? 0;
    if (stored <= objectsPerSeat) return 1;
    const limit = Number(query.get('limit') ?? 0);
    // Objects are in key order, so a page reads what it returns, unless a selector skips objects.
    const isPage = limit > 0 && !query.has('labelSelector') && !query.has('fieldSelector');
    const read = isPage ? Math.min(limit, stored) : stored;
    return Math.max(1, Math.min(Math.ceil(read / objectsPerSeat), maxListSeats, max));
  }

  /** Seats of a request with a body of `bytes` bytes, at most `max`. kube-apiserver does not count bodies: it decodes on many cores. */
  seatsOfBody(bytes: number, max: number): number {
    return Math.max(1, Math.min(Math.ceil(bytes / bodyBytesPerSeat), maxBodySeats, max));
  }

  /** Seat-milliseconds of the watch events that follow from a write. */
  extraWork(info: RequestInfo): number {
    if (!info.isResourceRequest) return 0;
    switch (info.verb) {
      case 'create':
      case 'update':
      case 'patch':
      case 'delete': {
        const watchers = this.#modules.watchers(info);
        return watchers < watchesPerSeat ? 0 : Math.ceil(watchers / watchesPerSeat) * eventMs;
      }
      default:
        return 0;
    }
  }
}

/** Without a resourceVersion, or with "0", a watch begins with all objects. */
export function sendsInitialEvents(query: URLSearchParams): boolean {
  if (query.get('sendInitialEvents') === 'true') return true;
  const revision = query.get('resourceVersion') ?? '';
  return revision === '' || revision === '0';
}
