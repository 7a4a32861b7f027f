/** Throws (or rejects) while something is wrong; the message goes to the log and to those who may see one check. */
export type HealthCheck = () => void | Promise<void>;

/** `livez`: restart me when it fails. `readyz`: send me no requests. `healthz`: both at once, for old callers. */
export type HealthEndpoint = 'livez' | 'readyz' | 'healthz';
export const healthEndpoints: readonly HealthEndpoint[] = ['livez', 'readyz', 'healthz'];

export interface HealthCheckOptions {
  /** Where the check counts; everywhere unless told otherwise. */
  readonly endpoints?: readonly HealthEndpoint[] | undefined;
}

/** A named check that the wiring of a server collects from its parts. */
interface NamedCheck {
  readonly name: string;
  readonly check: HealthCheck;
  readonly endpoints: readonly HealthEndpoint[];
}

/** What became of one check. */
export interface CheckResult {
  readonly name: string;
  readonly error?: Error | undefined;
}

/** The named checks of one server. Has no HTTP in it: {@link renderHealth} makes the answers. */
export class HealthChecks {
  readonly #checks = new Map<string, NamedCheck>();

  constructor() {
    // Answers whenever the event loop turns, so it is the check that needs no other.
    this.add('ping', () => {});
  }

  /** Adds a check; returns how to take it away again. Throws when the name is taken. */
  add(name: string, check: HealthCheck, { endpoints = healthEndpoints }: HealthCheckOptions = {}): () => void {
    if (this.#checks.has(name)) throw new Error(`there is a health check ${name} already`);
    this.#checks.set(name, { name, check, endpoints });
    return () => this.#checks.delete(name);
  }

  /** Adds a check that fails until `done` is called: for a step of the start. */
  addLatch(name: string, options: HealthCheckOptions = {}): { done: () => void } {
    let finished = false;
    this.add(
      name,
      () => {
        if (!finished) throw new Error('not finished');
      },
      options,
    );
    return { done: () => (finished = true) };
  }

  /** The names that count for an endpoint, in the order they were added. */
  names(endpoint: HealthEndpoint): string[] {
    return [...this.#checks.values()].filter((check) => check.endpoints.includes(endpoint)).map(({ name }) => name);
  }

  /** Runs these checks at the same time; the results come in the order asked for. Unknown names are left out. */
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
