import { StartupUnfinishedError } from './startup-unfinished-error.ts';

/** Throws or rejects while unhealthy. The message goes to the log and to clients that request this check alone. */
export type HealthCheck = () => void | Promise<void>;

/** A failing `livez` restarts the process, a failing `readyz` keeps requests away; `healthz` is the deprecated union. */
export type HealthEndpoint = 'livez' | 'readyz' | 'healthz';
export const healthEndpoints: readonly HealthEndpoint[] = ['livez', 'readyz', 'healthz'];

export interface HealthCheckOptions {
  /** Endpoints that include the check; all of them by default. */
  readonly endpoints?: readonly HealthEndpoint[] | undefined;
}

interface NamedCheck {
  readonly name: string;
  readonly check: HealthCheck;
  readonly endpoints: readonly HealthEndpoint[];
}

export interface CheckResult {
  readonly name: string;
  readonly error?: Error | undefined;
}

/** The named checks of one server, independent of HTTP: {@link renderHealth} renders responses. */
export class HealthChecks {
  readonly #checks = new Map<string, NamedCheck>();

  constructor() {
    // Succeeds whenever the event loop runs, as kube-apiserver's ping.
    this.add('ping', () => {});
  }

  /** Adds a check; the result removes it. Throws when the name is taken. */
  add(name: string, check: HealthCheck, { endpoints = healthEndpoints }: HealthCheckOptions = {}): () => void {
    if (this.#checks.has(name)) throw new Error(`health check ${name} already exists`);
    this.#checks.set(name, { name, check, endpoints });
    return () => this.#checks.delete(name);
  }

  /** Adds a check that fails until `done` is called, for a step of the startup. */
  addLatch(name: string, options: HealthCheckOptions = {}): { done: () => void } {
    let finished = false;
    this.add(
      name,
      () => {
        if (!finished) throw new StartupUnfinishedError('not finished');
      },
      options,
    );
    return { done: () => (finished = true) };
  }

  /** The names of the checks of an endpoint, in the order they were added. */
  names(endpoint: HealthEndpoint): string[] {
    return [...this.#checks.values()].filter((check) => check.endpoints.includes(endpoint)).map(({ name }) => name);
  }

  /** Runs checks concurrently; results are in the order of `names`, without unknown ones. */
  run(names: readonly string[]): Promise<CheckResult[]> {
    const checks = names.map((name) => this.#checks.get(name)).filter((check) => check !== undefined);
    return Promise.all(
      checks.map(async ({ name, check }) => {
        try {
          await check();
          return { name };
        } catch (cause) {
          return { name, error: cause instanceof Error ? cause : new Error(String(cause), { cause }) };
        }
      }),
    );
  }
}
