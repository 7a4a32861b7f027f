import {
  asJson,
  encodeJson,
  omittedValue,
  parseJson,
  statusErrors,
  type DeepReadonly,
  type FieldError,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { SlowChecks } from '@multiplane/apis';
import { slicesOfTurns, type Clock, type Runnable, type Slices } from '@multiplane/component-base';
import { compileAtOnce, NotCompiled, type CompiledSchema, type MayCompile } from '@multiplane/schema';
import { JobThread, JobThreadError } from './job-thread.ts';
import type { SlowExpressions } from '../admission/admission-evaluation.ts';
import type { ExpressionAnswer, ExpressionJob } from './expression-job.ts';
import type { SchemaAnswer, SchemaJob, SentError, ThreadAnswer, ThreadJob } from './schema-thread.ts';

/** All rules of an object together take about a second, a definition of a megabyte takes some hundred milliseconds. */
const deadlineMs = 15_000;
const maxWaiting = 64;
/** Of one logical cluster. */
const maxWaitingPerLane = 8;
const heapMiB = 512;
/** In so many turns more patterns are compiled than there is room for: who wants them all at once would never have them. */
const maxTurns = 100;

interface SchemaWorkerModules {
  readonly clock: Clock;
  readonly slices?: (() => Slices) | undefined;
}

/**
 * Checks that would hold the event loop, done in a thread (cost rule 4): definitions with many rules, objects whose rules
 * cost much (a tenant may make each of them cost a second), and such expressions of admission. The thread keeps the schemas it was given; a new
 * thread asks for them once more.
 */
export class SchemaWorker implements SlowChecks, SlowExpressions, Runnable {
  readonly name = 'schema worker';
  readonly #thread: JobThread<ThreadJob, ThreadAnswer>;
  readonly #slices: () => Slices;
  /** Hashes of schemas that the thread was sent; a new thread does not have them. */
  readonly #sent = new Set<string>();

  constructor(_options: Record<string, never>, modules: SchemaWorkerModules) {
    const options = {
      name: this.name,
      module: './schema-thread',
      from: import.meta.url,
      deadlineMs,
      maxWaiting,
      maxWaitingPerLane,
      heapMiB,
    };
    this.#slices = modules.slices ?? slicesOfTurns;
    this.#thread = new JobThread(options, modules);
  }

  start(): Promise<void> {
    return this.#thread.start();
  }

  stop(): Promise<void> {
    return this.#thread.stop();
  }

  async definition(
    cluster: LogicalClusterName,
    crd: KubeObject,
    old: DeepReadonly<KubeObject> | undefined,
  ): Promise<FieldError[]> {
    const answer = await this.#ask(cluster, { kind: 'definition', crd: textOf(crd), old: textOfOld(old) });
    if ('missing' in answer) throw new TypeError('the thread answers something else than was asked');
    return answer.errors.map(received);
  }

  /** Here, for what a thread has compiled is nowhere else. */
  compiling<T>(check: (mayCompile: MayCompile) => T): T | Promise<T> {
    try {
      return check(compileNothing);
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      return this.#compilingOn(check);
    }
  }

  async #compilingOn<T>(check: (mayCompile: MayCompile) => T): Promise<T> {
    const slices = this.#slices();
    for (let turns = 1; ; turns++) {
      await slices.next();
      let isFirst = true;
      const untilSliceIsOver = (): boolean => {
        const may = isFirst || !slices.over;
        isFirst = false;
        return may;
      };
      try {
        return check(turns < maxTurns ? untilSliceIsOver : compileAtOnce);
      } catch (error) {
        if (!(error instanceof NotCompiled)) throw error;
      }
    }
  }

  async object(
    cluster: LogicalClusterName,
    schema: CompiledSchema,
    object: KubeObject,
    { old, subtree }: { readonly old?: DeepReadonly<KubeObject> | undefined; readonly subtree?: 'status' | undefined },
  ): Promise<{ readonly errors: FieldError[]; readonly warnings: readonly string[] }> {
    const { hash } = schema;
    const job = { kind: 'object', hash, object: textOf(object), old: textOfOld(old), subtree } as const;
    const source = (): string => encodeJson(schema.source);
    let answer = await this.#ask(cluster, { ...job, schema: this.#sent.has(hash) ? undefined : source() });
    if ('missing' in answer) answer = await this.#ask(cluster, { ...job, schema: source() });
    if ('missing' in answer) throw new TypeError('the thread does not take a schema');
    if (this.#sent.size > 200) this.#sent.clear();
    this.#sent.add(hash);
    return { errors: answer.errors.map(received), warnings: answer.warnings };
  }

  async expression(cluster: string, job: ExpressionJob): Promise<ExpressionAnswer> {
    return (await this.#run(cluster, job)) as ExpressionAnswer;
  }

  async #ask(cluster: LogicalClusterName, job: SchemaJob): Promise<SchemaAnswer> {
    return (await this.#run(cluster, job)) as SchemaAnswer;
  }

  /** Throws 429 when too much waits, 503 when the server stops, 500 for what cannot be checked in time or memory. */
  async #run(cluster: string, job: ThreadJob): Promise<ThreadAnswer> {
    try {
      return await this.#thread.run(job, cluster);
    } catch (error) {
      if (!(error instanceof JobThreadError)) throw error;
      switch (error.failure) {
        case 'busy':
          throw statusErrors.tooManyRequests('too many objects with expensive rules wait, try again later', 1);
        case 'stopped':
          throw statusErrors.serviceUnavailable('the server is shutting down');
        case 'slow':
        case 'memory':
          throw statusErrors.internal(new Error('validation takes too much time or memory', { cause: error }));
      }
    }
  }
}

const compileNothing: MayCompile = () => false;
const textOf = (object: KubeObject): string => encodeJson(asJson(object));
const textOfOld = (old: DeepReadonly<KubeObject> | undefined): string | undefined =>
  old === undefined ? undefined : textOf(old as KubeObject);

function received({ value, omitted, ...error }: SentError): FieldError {
  if (omitted === true) return { ...error, value: omittedValue };
  return value === undefined ? error : { ...error, value: parseJson(value) };
}
