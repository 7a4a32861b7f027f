import type { CheckResult, HealthChecks, HealthEndpoint } from './health-checks.ts';

/** A parsed request of a health endpoint. */
export interface HealthRequest {
  readonly endpoint: HealthEndpoint;
  /** `etcd` in `/livez/etcd`: this check alone. */
  readonly check?: string | undefined;
  /** `?verbose`, whatever its value. */
  readonly verbose?: boolean | undefined;
  /** Every `?exclude=`. */
  readonly exclude?: readonly string[] | undefined;
}

export interface HealthResponse {
  readonly status: 200 | 404 | 500;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The checks that failed, for the log; the body withholds the reasons, because it is public. */
  readonly failures: readonly CheckResult[];
  /** Of a request for all checks: what each of them gave. */
  readonly results: readonly CheckResult[];
}

const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };

/** Renders the exact texts of kube-apiserver, which monitoring parses. */
export async function renderHealth(checks: HealthChecks, request: HealthRequest): Promise<HealthResponse> {
  return request.check === undefined ? renderAll(checks, request) : renderOne(checks, request.endpoint, request.check);
}

/** Parses `/livez?verbose&exclude=etcd`; undefined for other paths. */
export function parseHealthRequest(path: string, query: URLSearchParams): HealthRequest | undefined {
  const [, endpoint, check] = /^\/(livez|readyz|healthz)(?:\/(.+))?$/.exec(path.replace(/\/$/, '')) ?? [];
  if (endpoint === undefined) return undefined;
  return {
    endpoint: endpoint as HealthEndpoint,
    check,
    verbose: query.has('verbose'),
    exclude: query.getAll('exclude'),
  };
}

async function renderAll(checks: HealthChecks, request: HealthRequest): Promise<HealthResponse> {
  const { endpoint, verbose = false, exclude = [] } = request;
  const names = checks.names(endpoint);
  const results = new Map((await checks.run(names.filter((name) => !exclude.includes(name)))).map((r) => [r.name, r]));
  const lines = names.map((name) => {
    if (exclude.includes(name)) return `[+]${name} excluded: ok\n`;
    return results.get(name)?.error === undefined ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`;
  });
  const unknown = [...new Set(exclude)].filter((name) => !names.includes(name)).sort();
  if (unknown.length > 0) {
    const quoted = unknown.map((name) => JSON.stringify(name)).join(', ');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${quoted}\n`);
  }
  const all = [...results.values()];
  const failures = all.filter(({ error }) => error !== undefined);
  if (failures.length > 0) {
    return { status: 500, headers, body: `${lines.join('')}${endpoint} check failed\n`, failures, results: all };
  }
  return {
    status: 200,
    headers,
    body: verbose ? `${lines.join('')}${endpoint} check passed\n` : 'ok',
    failures,
    results: all,
  };
}

async function renderOne(checks: HealthChecks, endpoint: HealthEndpoint, name: string): Promise<HealthResponse> {
  const [result] = checks.names(endpoint).includes(name) ? await checks.run([name]) : [];
  if (result === undefined) return { status: 404, headers, body: '404 page not found\n', failures: [], results: [] };
  if (result.error === undefined) return { status: 200, headers, body: 'ok', failures: [], results: [] };
  return {
    status: 500,
    headers,
    body: `internal server error: ${result.error.message}\n`,
    failures: [result],
    results: [],
  };
}
