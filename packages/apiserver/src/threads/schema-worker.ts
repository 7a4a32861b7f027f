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
import { timeSlices, type Clock, type Runnable, type TimeSlices } from '@multiplane/component-base';
import { compileAtOnce, NotCompiled, type CompiledSchema, type MayCompile } from '@multiplane/schema';
import { JobThread, JobThreadError } from './job-thread.ts';
import type { ExpressionOffloader } from '../admission/admission-evaluation.ts';
import type { ExpressionJobResult, ExpressionJob } from './expression-job.ts';
import type { SchemaAnswer, SchemaJob, SentError, ThreadAnswer, ThreadJob } from './schema-thread.ts';

/** The rules of an object take about a second in total, a CRD of a megabyte some hundred milliseconds. */
const deadlineMs = 15_000;
const maxQueued = 64;
/** Per logical cluster. */
const maxQueuedPerLane = 8;
const heapMiB = 512;
/**
 * After this many time slices everything is compiled at once: more patterns are needed than the cache holds, so slices
 * would never end.
 */
const maxSlices = 100;

interface SchemaWorkerModules {
  readonly clock: Clock;
  readonly slices?: (() => TimeSlices) | undefined;
}

/**
 * Runs checks that would block the event loop in a worker thread: CRDs with many validation rules, objects with
 * expensive rules (a tenant can make them cost a second), and expensive admission expressions. The thread caches
 * schemas; a new thread requests them again.
 */
export class SchemaWorker implements SlowChecks, ExpressionOffloader, Runnable {
  readonly name = 'schema worker';
  readonly #thread: JobThread<ThreadJob, ThreadAnswer>;
  readonly #slices: () => TimeSlices;
  /** Hashes of the schemas that were sent to the thread; a new thread does not have them. */
  readonly #sentSchemas = new Set<string>();

  constructor(modules: SchemaWorkerModules) {
    const options = {
      name: this.name,
      module: './schema-thread',
      from: import.meta.url,
      deadlineMs,
      maxQueued,
      maxQueuedPerLane,
      heapMiB,
    };
    this.#slices = modules.slices ?? timeSlices;
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
    const result = await this.#check(cluster, { kind: 'definition', crd: textOf(crd), old: textOfOld(old) });
    if ('missing' in result) throw new TypeError('unexpected response of the schema thread');
    return result.errors.map(decodeError);
  }

  /** Compiles on the event loop in time slices, because compiled programs cannot be transferred from a thread. */
  compiling<T>(check: (mayCompile: MayCompile) => T): T | Promise<T> {
    try {
      return check(compileNothing);
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      return this.#compileInSlices(check);
    }
  }

  async #compileInSlices<T>(check: (mayCompile: MayCompile) => T): Promise<T> {
    const slices = this.#slices();
    for (let slice = 1; ; slice++) {
      await slices.yield();
      let isFirst = true;
      const untilSliceEnds = (): boolean => {
        const may = isFirst || !slices.isExceeded;
        isFirst = false;
        return may;
      };
      try {
        return check(slice < maxSlices ? untilSliceEnds : compileAtOnce);
      } catch (error) {
        if (!(error instanceof NotCompiled)) throw error;
      }
    }
  }

  async object(
    cluster: LogicalClusterName,
    schema: CompiledSchema,
    object: KubeObject,
    {
      old,
      subtree,
      beside = [],
    }: {
      readonly old?: DeepReadonly<KubeObject> | undefined;
      readonly subtree?: 'status' | undefined;
      readonly beside?: readonly FieldError[] | undefined;
    },
  ): Promise<{ readonly errors: FieldError[]; readonly warnings: readonly string[] }> {
    const { hash } = schema;
    const job = { kind: 'object', hash, object: textOf(object), old: textOfOld(old), subtree, beside } as const;
    const source = (): string => encodeJson(schema.source);
    let result = await this.#check(cluster, { ...job, schema: this.#sentSchemas.has(hash) ? undefined : source() });
    if ('missing' in result) result = await this.#check(cluster, { ...job, schema: source() });
    if ('missing' in result) throw new TypeError('the schema thread did not accept the schema');
    if (this.#sentSchemas.size > 200) this.#sentSchemas.clear();
    this.#sentSchemas.add(hash);
    return { errors: result.errors.map(decodeError), warnings: result.warnings };
  }

  async expression(cluster: string, job: ExpressionJob): Promise<ExpressionJobResult> {
    return (await this.#run(cluster, job)) as ExpressionJobResult;
  }

  async #check(cluster: LogicalClusterName, job: SchemaJob): Promise<SchemaAnswer> {
    return (await this.#run(cluster, job)) as SchemaAnswer;
  }

  /** Throws 429 if too many jobs are queued, 503 on shutdown, 500 if a job exceeds its time or memory. */
  async #run(cluster: string, job: ThreadJob): Promise<ThreadAnswer> {
    try {
      return await this.#thread.run(job, cluster);
    } catch (error) {
      if (!(error instanceof JobThreadError)) throw error;
      switch (error.failure) {
        case 'busy':
          throw statusErrors.tooManyRequests('too many objects with expensive rules are queued, try again later', 1);
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

function decodeError({ value, omitted, ...error }: SentError): FieldError {
  if (omitted === true) return { ...error, value: omittedValue };
  return value === undefined ? error : { ...error, value: parseJson(value) };
}
