import type { ResourceDefinition } from '@multiplane/apis';
import {
  durationBuckets,
  type Counter,
  type CounterSeries,
  type Gauge,
  type Histogram,
  type HistogramSeries,
  type MetricsRegistry,
} from '@multiplane/component-base';
import type { Exchange } from './exchange.ts';
import type { InFlight } from './filters/max-in-flight.ts';
import type { RequestInfo } from './request-info.ts';
import type { ServerRequestContext } from './server-request-context.ts';
import type { EdgeExchange } from './server/dispatched-exchange.ts';

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
type RequestHead = Pick<Exchange, 'headers' | 'url'>;
type Target = Readonly<Record<TargetLabel, string>>;
type CountLabel = TargetLabel | 'dry_run' | 'code';
interface TargetMetrics {
  readonly total: Counter<CountLabel>;
  readonly duration: Histogram<TargetLabel | 'dry_run'>;
  readonly sli: Histogram<TargetLabel>;
  readonly sizes: Histogram<TargetLabel>;
}

/** Definitions that have series of their own; the others share one. */
const maxNamedDefinitions = 32;

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

/** The series of one target: looked up once per request, then counted without looking at labels. */
class TargetSeries {
  readonly labels: Target;
  readonly duration: HistogramSeries;
  readonly sli: HistogramSeries;
  readonly sizes: HistogramSeries;
  readonly #total: Counter<CountLabel>;
  readonly dryRun: string;
  readonly #codes = new Map<number, CounterSeries>();

  constructor(labels: Target, dryRun: string, metrics: TargetMetrics) {
    this.labels = labels;
    this.duration = metrics.duration.series({ ...labels, dry_run: dryRun });
    this.sli = metrics.sli.series(labels);
    this.sizes = metrics.sizes.series(labels);
    this.#total = metrics.total;
    this.dryRun = dryRun;
  }

  code(code: number): CounterSeries {
    let series = this.#codes.get(code);
    if (series === undefined) {
      series = this.#total.series({ ...this.labels, dry_run: this.dryRun, code: String(code) });
      this.#codes.set(code, series);
    }
    return series;
  }
}

/** The request metrics that dashboards rely on (K9.5). Names nothing that a stranger can make up. */
export class RequestMetrics {
  readonly #metrics: TargetMetrics;
  readonly #terminations: Counter<TargetLabel | 'code'>;
  readonly #aborts: Counter<TargetLabel>;
  readonly #longRunning: Gauge<TargetLabel>;
  readonly #inFlight: Gauge<'request_kind'>;
  /** By definition, so that those which are gone take their entries with them. */
  readonly #byDefinition = new WeakMap<ResourceDefinition, TargetSeries[]>();
  readonly #others: TargetSeries[] = [];
  /** `group/resource` of definitions that have series of their own. */
  readonly #named = new Set<string>();
  readonly authentication: Readonly<Record<'success' | 'failure' | 'error', CounterSeries>>;
  readonly authorization: Readonly<Record<'allow' | 'deny' | 'noOpinion' | 'error', CounterSeries>>;
  readonly handshakeErrors: CounterSeries;
  /** Written by the max-in-flight filter, read at every scrape. */
  readonly inFlight: InFlight = { readOnly: 0, mutating: 0 };

  constructor(registry: MetricsRegistry) {
    this.#metrics = {
      total: registry.counter({
        name: 'apiserver_request_total',
        help: 'Requests by what they were for and how they ended.',
        labels: { ...withDryRun, code: 48 },
      }),
      duration: registry.histogram({
        name: 'apiserver_request_duration_seconds',
        help: 'Time from the headers of a request to the end of its handler.',
        labels: withDryRun,
        buckets: durationBuckets,
      }),
      sli: registry.histogram({
        name: 'apiserver_request_sli_duration_seconds',
        help: 'The same without what others were waited for (webhooks).',
        labels: targetLabels,
        buckets: durationBuckets,
      }),
      sizes: registry.histogram({
        name: 'apiserver_response_sizes',
        help: 'Bytes of the bodies of answers.',
        labels: targetLabels,
        buckets: sizeBuckets,
      }),
    };
    this.#terminations = registry.counter({
      name: 'apiserver_request_terminations_total',
      help: 'Requests that the server ended itself to protect others or itself.',
      labels: { ...targetLabels, code: ['429', '504'] },
    });
    this.#aborts = registry.counter({
      name: 'apiserver_request_aborts_total',
      help: 'Answers that were cut off half way.',
      labels: targetLabels,
    });
    const attempts = registry.counter({
      name: 'authentication_attempts',
      help: 'Requests by what became of their credentials.',
      labels: { result: ['success', 'failure', 'error'] },
    });
    this.authentication = {
      success: attempts.series({ result: 'success' }),
      failure: attempts.series({ result: 'failure' }),
      error: attempts.series({ result: 'error' }),
    };
    const decisions = registry.counter({
      name: 'authorization_attempts_total',
      help: 'Requests by what authorizers said.',
      labels: { result: ['allowed', 'denied', 'no-opinion', 'error'] },
    });
    this.authorization = {
      allow: decisions.series({ result: 'allowed' }),
      deny: decisions.series({ result: 'denied' }),
      noOpinion: decisions.series({ result: 'no-opinion' }),
      error: decisions.series({ result: 'error' }),
    };
    this.handshakeErrors = registry
      .counter({ name: 'apiserver_tls_handshake_errors_total', help: 'TLS handshakes that failed.' })
      .series();
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
    exchange: EdgeExchange,
    info: RequestInfo | undefined,
    definition: ResourceDefinition | undefined,
    status: number,
    milliseconds: number,
  ): void {
    const series = this.#series(exchange, info, definition);
    series.code(status).add(1);
    // The duration of a watch says how patient a client was.
    if (series.labels.verb === 'WATCH') return;
    series.duration.observe(milliseconds / 1000);
    series.sli.observe(milliseconds / 1000);
    series.sizes.observe(exchange.bytesSent);
  }

  /** The server ended a request itself: too many at once (429), or its time was up (504). */
  terminated(context: ServerRequestContext, code: 429 | 504): void {
    const { labels } = this.#series(context.exchange, context.info, context.definition);
    this.#terminations.add(1, { ...labels, code: String(code) });
  }

  /** An answer was cut off after it had begun. */
  aborted(exchange: RequestHead, info: RequestInfo | undefined, definition: ResourceDefinition | undefined): void {
    this.#aborts.add(1, this.#series(exchange, info, definition).labels);
  }

  /** A long-running request began; call the result at its end. */
  longRunningBegan(exchange: RequestHead, info: RequestInfo, definition: ResourceDefinition | undefined): () => void {
    const { labels } = this.#series(exchange, info, definition);
    this.#longRunning.add(1, labels);
    return () => this.#longRunning.add(-1, labels);
  }

  #series(
    exchange: RequestHead,
    info: RequestInfo | undefined,
    definition: ResourceDefinition | undefined,
  ): TargetSeries {
    const verb = verbOf(exchange, info);
    const dryRun = dryRunOf(exchange, info);
    const isResource = info !== undefined && definition !== undefined;
    const subresource = isResource ? subresourceOf(info, definition) : pathOf(info);
    const scope = isResource ? scopeOf(info) : '';
    const known = isResource ? this.#ofDefinition(definition) : this.#others;
    // A handful each, of texts that are mostly the same objects: comparing beats making a key.
    for (const series of known) {
      const { labels } = series;
      if (labels.verb !== verb || labels.scope !== scope) continue;
      if (labels.subresource === subresource && series.dryRun === dryRun) return series;
    }
    const { group, version, resource } = isResource ? this.#namesOf(definition) : nothing;
    const labels = { verb, group, version, resource, subresource, scope, component };
    const series = new TargetSeries(labels, dryRun, this.#metrics);
    known.push(series);
    return series;
  }

  /** Tenants' resources are named as long as there are few: groups times resources would soon be too many series. */
  #namesOf(definition: ResourceDefinition): Pick<Target, 'group' | 'version' | 'resource'> {
    if (definition.origin === 'built-in') return definition;
    const name = `${definition.group}/${definition.resource}`;
    if (!this.#named.has(name)) {
      if (this.#named.size >= maxNamedDefinitions) return other;
      this.#named.add(name);
    }
    return definition;
  }

  #ofDefinition(definition: ResourceDefinition): TargetSeries[] {
    let known = this.#byDefinition.get(definition);
    if (known === undefined) {
      known = [];
      this.#byDefinition.set(definition, known);
    }
    return known;
  }
}

const component = 'apiserver';
const other = { group: 'other', version: 'other', resource: 'other' };
const nothing = { group: '', version: '', resource: '' };

const pathOf = (info: RequestInfo | undefined): string =>
  info !== undefined && knownPaths.has(info.path) ? info.path : '';

const subresourceOf = ({ subresource }: RequestInfo, { subresources }: ResourceDefinition): string =>
  subresource !== '' && Object.hasOwn(subresources, subresource) ? subresource : '';

const scopeOf = ({ name, namespace }: RequestInfo): string =>
  name !== '' ? 'resource' : namespace !== '' ? 'namespace' : 'cluster';

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

function dryRunOf(exchange: RequestHead, info: RequestInfo | undefined): string {
  if (info === undefined || !exchange.url.includes('dryRun')) return '';
  const value = info.query.get('dryRun');
  if (value === null) return '';
  return value === 'All' ? 'All' : 'invalid';
}
