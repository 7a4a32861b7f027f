import type { ResourceDefinition } from '@multiplane/apis';
import {
  durationBuckets,
  type Counter,
  type Gauge,
  type Histogram,
  type MetricsRegistry,
} from '@multiplane/component-base';
import type { Exchange } from './exchange.ts';
import type { InFlight } from './filters/max-in-flight.ts';
import type { RequestInfo } from './request-info.ts';
import type { BaseExchange } from './server/base-exchange.ts';

const verbs = [
  'GET',
  'LIST',
  'WATCH',
  'POST',
  'PUT',
  'PATCH',
  'APPLY',
  'DELETE',
  'DELETECOLLECTION',
  'CONNECT',
  'other',
];
const scopes = ['resource', 'namespace', 'cluster', ''];
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/** Paths outside of resources that have a series of their own; everything else is the empty text. */
const knownPaths = new Set([
  '/',
  '/api',
  '/apis',
  '/api/v1',
  '/healthz',
  '/livez',
  '/readyz',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/version',
]);

type TargetLabel = 'verb' | 'group' | 'version' | 'resource' | 'subresource' | 'scope' | 'component';
type RequestHead = Pick<Exchange, 'headers'>;
type Target = Readonly<Record<TargetLabel, string>>;

/** Tenants bring groups and resources of their own: what goes beyond is counted as `other`. */
const targetLabels = {
  verb: verbs,
  group: 48,
  version: 16,
  resource: 96,
  subresource: 40,
  scope: scopes,
  component: ['apiserver'],
};
const withDryRun = { ...targetLabels, dry_run: ['All', 'invalid', ''] };

/** The request metrics that dashboards rely on (K9.5). Names nothing that a stranger can make up. */
export class RequestMetrics {
  readonly #total: Counter<TargetLabel | 'dry_run' | 'code'>;
  readonly #duration: Histogram<TargetLabel | 'dry_run'>;
  readonly #sizes: Histogram<TargetLabel>;
  readonly #longRunning: Gauge<TargetLabel>;
  readonly #inFlight: Gauge<'request_kind'>;
  /** Written by the max-in-flight filter, read at every scrape. */
  readonly inFlight: InFlight = { readOnly: 0, mutating: 0 };

  constructor(registry: MetricsRegistry) {
    this.#total = registry.counter({
      name: 'apiserver_request_total',
      help: 'Requests by what they were for and how they ended.',
      labels: { ...withDryRun, code: 48 },
    });
    this.#duration = registry.histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its handler.',
      labels: withDryRun,
      buckets: durationBuckets,
    });
    this.#sizes = registry.histogram({
      name: 'apiserver_response_sizes',
      help: 'Bytes of the bodies of answers.',
      labels: targetLabels,
      buckets: sizeBuckets,
    });
    this.#longRunning = registry.gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Watches and other requests that last as long as the client wants.',
      labels: targetLabels,
    });
    this.#inFlight = registry.gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests that are being worked on and count towards the limits.',
      labels: { request_kind: ['readOnly', 'mutating'] },
    });
  }

  /** To be called before the registry is rendered: counting every request twice would cost more than this. */
  collect(): void {
    this.#inFlight.set(this.inFlight.readOnly, { request_kind: 'readOnly' });
    this.#inFlight.set(this.inFlight.mutating, { request_kind: 'mutating' });
  }

  /** A request is over; `definition` is what routing found. */
  finished(
    exchange: BaseExchange,
    info: RequestInfo | undefined,
    definition: ResourceDefinition | undefined,
    milliseconds: number,
  ): void {
    const target = targetOf(exchange, info, definition);
    const dryRun = dryRunOf(exchange, info);
    this.#total.add(1, { ...target, dry_run: dryRun, code: String(exchange.status) });
    // The duration of a watch says how patient a client was.
    if (target.verb === 'WATCH') return;
    this.#duration.observe(milliseconds / 1000, { ...target, dry_run: dryRun });
    this.#sizes.observe(exchange.bytesSent, target);
  }

  /** A long-running request began; call the result at its end. */
  longRunningBegan(exchange: RequestHead, info: RequestInfo, definition: ResourceDefinition | undefined): () => void {
    const target = targetOf(exchange, info, definition);
    this.#longRunning.add(1, target);
    return () => this.#longRunning.add(-1, target);
  }
}

const component = 'apiserver';

function targetOf(
  exchange: RequestHead,
  info: RequestInfo | undefined,
  definition: ResourceDefinition | undefined,
): Target {
  const verb = verbOf(exchange, info);
  if (info === undefined || definition === undefined) {
    const path = info !== undefined && knownPaths.has(info.path) ? info.path : '';
    return { verb, group: '', version: '', resource: '', subresource: path, scope: '', component };
  }
  return {
    verb,
    group: definition.group,
    version: definition.version,
    resource: definition.resource,
    subresource: Object.hasOwn(definition.subresources, info.subresource) ? info.subresource : '',
    scope: info.name !== '' ? 'resource' : info.namespace !== '' ? 'namespace' : 'cluster',
    component,
  };
}

const verbNames: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  post: 'POST',
  update: 'PUT',
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
};

function verbOf(exchange: RequestHead, info: RequestInfo | undefined): string {
  if (info === undefined || !Object.hasOwn(verbNames, info.verb)) return 'other';
  const verb = verbNames[info.verb] as string;
  const type = exchange.headers['content-type'];
  return verb === 'PATCH' && typeof type === 'string' && type.startsWith('application/apply-patch') ? 'APPLY' : verb;
}

function dryRunOf(exchange: BaseExchange, info: RequestInfo | undefined): string {
  if (info === undefined || !exchange.url.includes('dryRun')) return '';
  const value = info.query.get('dryRun');
  if (value === null) return '';
  return value === 'All' ? 'All' : 'invalid';
}
