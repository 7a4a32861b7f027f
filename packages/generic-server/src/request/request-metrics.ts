import {
  durationBuckets,
  type Counter,
  type CounterSeries,
  type Gauge,
  type Histogram,
  type HistogramSeries,
  type MetricsRegistry,
} from '@multiplane/component-base';
import type { Exchange } from '../server/exchange.ts';
import type { RequestInfo } from './request-info.ts';
import type { ServerRequestContext } from './server-request-context.ts';
import type { ServedResource } from './served-resource.ts';
import type { ServerExchange } from '../server/dispatched-exchange.ts';

/** Running requests that count towards the limits, by kind. */
export interface InFlight {
  readOnly: number;
  mutating: number;
}

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
const sizeBuckets = [1e3, 1e5, 1e7, 1e9];

/** Non-resource paths with metric series of their own; all others have the empty label. */
const knownPaths = new Set([
  '/',
  '/api',
  '/apis',
  '/api/v1',
  '/healthz',
  '/livez',
  '/readyz',
  '/metrics',
  '/metrics/slis',
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
  readonly duration: Histogram<CommonLabel>;
  readonly sli: Histogram<CommonLabel>;
  readonly sizes: Histogram<CommonLabel>;
}
type CommonLabel = 'verb' | 'scope' | 'component';

/** Custom resources with metric series of their own; further ones share the label `other`. */
const maxNamedDefinitions = 12;

/**
 * Combinations of label values that a metric may have. Requests are counted by resource. Histograms, which have ten series per
 * combination, are by verb and scope only: the first resources that are used would otherwise take all series.
 */
const maxSets = { total: 240, histogram: 16, terminations: 24, aborts: 12, longRunning: 40, cacheLists: 24 };

/** Label limits: tenants define groups and resources, and values above a limit are counted as `other`. */
const targetLabels = {
  verb: verbs,
  group: 48,
  version: 16,
  resource: 96,
  subresource: 40,
  scope: scopes,
  component: ['apiserver'],
};
const commonLabels = { verb: verbs, scope: scopes, component: ['apiserver'] };
const withDryRun = { ...targetLabels, dry_run: ['All', 'invalid', ''] };

/** The metric series of one request target: found once per request, then updated without label lookups. */
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
    const common = { verb: labels.verb, scope: labels.scope, component: labels.component };
    this.duration = metrics.duration.series(common);
    this.sli = metrics.sli.series(common);
    this.sizes = metrics.sizes.series(common);
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

/** The request metrics of kube-apiserver. No label value can be chosen by an unauthenticated client. */
export class RequestMetrics {
  readonly #metrics: TargetMetrics;
  readonly #cacheLists: Counter<'group' | 'resource' | 'index'> | undefined;
  readonly #terminations: Counter<TargetLabel | 'code'>;
  readonly #aborts: Counter<TargetLabel>;
  readonly #longRunning: Gauge<TargetLabel>;
  readonly #inFlight: Gauge<'request_kind'>;
  /** Weak, so that the series of removed definitions are released. */
  readonly #byDefinition = new WeakMap<ServedResource, TargetSeries[]>();
  readonly #others: TargetSeries[] = [];
  /** `group/resource` of custom resources with series of their own. */
  readonly #named = new Set<string>();
  readonly authentication: Readonly<Record<'success' | 'failure' | 'error', CounterSeries>>;
  readonly authorization: Readonly<Record<'allow' | 'deny' | 'noOpinion' | 'error', CounterSeries>>;
  readonly handshakeErrors: CounterSeries;
  /** Written by the max-in-flight filter, read when metrics are collected. */
  readonly inFlight: InFlight = { readOnly: 0, mutating: 0 };

  /** `readsFromCache`: lists of this server are answered by its watch cache, and counted. */
  constructor(registry: MetricsRegistry, options: { readonly readsFromCache?: boolean } = {}) {
    if (options.readsFromCache === true) {
      this.#cacheLists = registry.counter({
        name: 'apiserver_cache_list_total',
        help: 'Lists that the watch cache answered.',
        labels: { group: targetLabels.group, resource: targetLabels.resource, index: [''] },
        maxLabelSets: maxSets.cacheLists,
      });
    }
    this.#metrics = {
      total: registry.counter({
        name: 'apiserver_request_total',
        help: 'Requests by target and response code.',
        labels: { ...withDryRun, code: 48 },
        maxLabelSets: maxSets.total,
      }),
      duration: registry.histogram({
        name: 'apiserver_request_duration_seconds',
        help: 'Time from the headers of a request to the end of its handler.',
        labels: commonLabels,
        maxLabelSets: maxSets.histogram,
        buckets: durationBuckets,
      }),
      sli: registry.histogram({
        name: 'apiserver_request_sli_duration_seconds',
        help: 'Request duration without the time spent waiting for webhooks.',
        labels: commonLabels,
        maxLabelSets: maxSets.histogram,
        buckets: durationBuckets,
      }),
      sizes: registry.histogram({
        name: 'apiserver_response_sizes',
        help: 'Sizes of response bodies in bytes.',
        labels: commonLabels,
        maxLabelSets: maxSets.histogram,
        buckets: sizeBuckets,
      }),
    };
    this.#terminations = registry.counter({
      name: 'apiserver_request_terminations_total',
      help: 'Requests that the server terminated to protect itself.',
      labels: { ...targetLabels, code: ['429', '504'] },
      maxLabelSets: maxSets.terminations,
    });
    this.#aborts = registry.counter({
      name: 'apiserver_request_aborts_total',
      help: 'Responses that were aborted after they had started.',
      labels: targetLabels,
      maxLabelSets: maxSets.aborts,
    });
    const attempts = registry.counter({
      name: 'authentication_attempts',
      help: 'Authentication attempts by result.',
      labels: { result: ['success', 'failure', 'error'] },
    });
    this.authentication = {
      success: attempts.series({ result: 'success' }),
      failure: attempts.series({ result: 'failure' }),
      error: attempts.series({ result: 'error' }),
    };
    const decisions = registry.counter({
      name: 'authorization_attempts_total',
      help: 'Authorization attempts by result.',
      labels: { result: ['allowed', 'denied', 'no-opinion', 'error'] },
    });
    this.authorization = {
      allow: decisions.series({ result: 'allowed' }),
      deny: decisions.series({ result: 'denied' }),
      noOpinion: decisions.series({ result: 'no-opinion' }),
      error: decisions.series({ result: 'error' }),
    };
    this.handshakeErrors = registry
      .counter({ name: 'apiserver_tls_handshake_errors_total', help: 'Failed TLS handshakes.' })
      .series();
    this.#longRunning = registry.gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Running watches and other long-running requests.',
      labels: targetLabels,
      maxLabelSets: maxSets.longRunning,
    });
    this.#inFlight = registry.gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Running requests that count towards the in-flight limits.',
      labels: { request_kind: ['readOnly', 'mutating'] },
    });
  }

  /** Updates gauges. To be called before the registry is rendered, which is cheaper than updating them per request. */
  collect(): void {
    this.#inFlight.set(this.inFlight.readOnly, { request_kind: 'readOnly' });
    this.#inFlight.set(this.inFlight.mutating, { request_kind: 'mutating' });
  }

  /** A request ended; `definition` is the resource that routing found. */
  finished(
    exchange: ServerExchange,
    info: RequestInfo | undefined,
    definition: ServedResource | undefined,
    status: number,
    milliseconds: number,
  ): void {
    const series = this.#series(exchange, info, definition);
    series.code(status).add(1);
    if (this.#cacheLists !== undefined && series.labels.verb === 'LIST' && status === 200) {
      const { group, resource } = series.labels;
      // Lists of virtual resources are answered elsewhere.
      if (definition !== undefined && definition.virtual === undefined)
        this.#cacheLists.add(1, { group, resource, index: '' });
    }
    // Clients choose the duration of a watch.
    if (series.labels.verb === 'WATCH') return;
    series.duration.observe(milliseconds / 1000);
    series.sli.observe(milliseconds / 1000);
    series.sizes.observe(exchange.bytesSent);
  }

  /** The server terminated a request: too many in flight (429) or deadline exceeded (504). */
  terminated(context: ServerRequestContext, code: 429 | 504): void {
    const { labels } = this.#series(context.exchange, context.info, context.definition);
    this.#terminations.add(1, { ...labels, code: String(code) });
  }

  /** A response was aborted after it had started. */
  aborted(exchange: RequestHead, info: RequestInfo | undefined, definition: ServedResource | undefined): void {
    this.#aborts.add(1, this.#series(exchange, info, definition).labels);
  }

  /** A long-running request started; to be undone by calling the result. */
  longRunningStarted(exchange: RequestHead, info: RequestInfo, definition: ServedResource | undefined): () => void {
    const { labels } = this.#series(exchange, info, definition);
    this.#longRunning.add(1, labels);
    return () => this.#longRunning.add(-1, labels);
  }

  #series(exchange: RequestHead, info: RequestInfo | undefined, definition: ServedResource | undefined): TargetSeries {
    const verb = verbOf(exchange, info);
    const dryRun = dryRunOf(exchange, info);
    const isResource = info !== undefined && definition !== undefined;
    const subresource = isResource ? subresourceOf(info, definition) : pathOf(info);
    const scope = isResource ? scopeOf(info) : '';
    const known = isResource ? this.#ofDefinition(definition) : this.#others;
    // A few entries each, mostly with identical string objects: comparing is faster than building a map key.
    for (const series of known) {
      const { labels } = series;
      if (labels.verb !== verb || labels.scope !== scope) continue;
      if (labels.subresource === subresource && series.dryRun === dryRun) return series;
    }
    const { group, version, resource } = isResource ? this.#namesOf(definition) : noResource;
    const labels = { verb, group, version, resource, subresource, scope, component };
    const series = new TargetSeries(labels, dryRun, this.#metrics);
    known.push(series);
    return series;
  }

  /** Custom resources are named up to a limit: groups times resources would be too many series. */
  #namesOf(definition: ServedResource): Pick<Target, 'group' | 'version' | 'resource'> {
    if (definition.origin === 'built-in') return definition;
    const name = `${definition.group}/${definition.resource}`;
    if (!this.#named.has(name)) {
      if (this.#named.size >= maxNamedDefinitions) return other;
      this.#named.add(name);
    }
    return definition;
  }

  #ofDefinition(definition: ServedResource): TargetSeries[] {
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
const noResource = { group: '', version: '', resource: '' };

const pathOf = (info: RequestInfo | undefined): string =>
  info !== undefined && knownPaths.has(info.path) ? info.path : '';

const subresourceOf = ({ subresource }: RequestInfo, { subresources }: ServedResource): string =>
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
