import {
  asJson,
  encodeJson,
  encodeJsonIncrementally,
  omittedValue,
  parseJson,
  statusErrors,
  type DeepReadonly,
  type FieldError,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { SlowCheckOptions, SlowChecks } from '@multiplane/apis';
import { runInTimeSlices, timeSlices, type Clock, type Runnable, type TimeSlices } from '@multiplane/component-base';
import {
  compileAtOnce,
  minInlineSteps,
  NotCompiled,
  OutOfPatience,
  type CompiledSchema,
  type IsOverdue,
  type MayCompile,
} from '@multiplane/schema';
import { JobThreads, JobThreadError } from './job-threads.ts';
import type { Abortable } from '../time-slices.ts';
import type { ExpressionOffloader } from '../admission/admission-evaluation.ts';
import type { ExpressionJobResult, ExpressionJob } from './expression-job.ts';
import type { SchemaAnswer, SchemaJob, SentError, SentErrors, ThreadAnswer, ThreadJob } from './schema-thread.ts';

/** The rules of an object take about a second in total, a CRD of a megabyte some hundred milliseconds. */
const deadlineMs = 30_000;
const maxQueued = 64;
const maxQueuedBytes = 64 * 1024 * 1024;
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
  readonly #threads: JobThreads<ThreadJob, ThreadAnswer>;
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
      maxQueuedBytes,
      heapMiB,
    };
    this.#slices = modules.slices ?? timeSlices;
    this.#threads = new JobThreads(options, modules);
  }

  start(): Promise<void> {
    return this.#threads.start();
  }

  stop(): Promise<void> {
    return this.#threads.stop();
  }

  async definition(
    cluster: LogicalClusterName,
    crd: KubeObject,
    old: DeepReadonly<KubeObject> | undefined,
    request?: Abortable,
  ): Promise<FieldError[]> {
    const text = textOf(crd, cluster);
    const oldText = textOfOld(old, cluster);
    const job = {
      kind: 'definition',
      crd: text instanceof Promise ? await text : text,
      old: oldText instanceof Promise ? await oldText : oldText,
    } as const;
    const result = await this.#check({ cluster, bytes: job.crd.length + (job.old?.length ?? 0), request }, job);
    if ('missing' in result) throw new TypeError('unexpected response of the schema thread');
    return decodeErrors(result);
  }

  /**
   * Compiles on the event loop in time slices, because compiled programs cannot be transferred from a thread.
   *
   * Checks that begin at the same time share the first slice, so a check that exceeds it may have done nothing yet: it is
   * made again in a later slice, like one that has to compile. There only one that has taken {@link minInlineSteps} itself
   * is overdue and throws OutOfPatience. It has waited for a slice with time left, so an iteration of the event loop
   * exceeds its slice by these steps at most.
   */
  compiling<T>(check: CompilingCheck<T>): T | Promise<T> {
    const slices = this.#slices();
    let wasOverdue = false;
    try {
      return check(compileNothing, () => (wasOverdue = slices.isExceeded));
    } catch (error) {
      if (!(error instanceof NotCompiled || (error instanceof OutOfPatience && wasOverdue))) throw error;
      return this.#compileInSlices(check);
    }
  }

  async #compileInSlices<T>(check: CompilingCheck<T>): Promise<T> {
    const slices = this.#slices();
    for (let slice = 1; ; slice++) {
      await slices.yield();
      let hasCompiled = false;
      const untilSliceEnds = (): boolean => {
        const may = !hasCompiled || !slices.isExceeded;
        hasCompiled ||= may;
        return may;
      };
      const isOverdue = (steps: number): boolean => steps > minInlineSteps && slices.isExceeded;
      try {
        return check(slice < maxSlices ? untilSliceEnds : compileAtOnce, isOverdue);
      } catch (error) {
        // A slice that was used up by compiling says nothing about the check.
        if (!(error instanceof NotCompiled || (error instanceof OutOfPatience && hasCompiled))) throw error;
      }
    }
  }

  async object(
    cluster: LogicalClusterName,
    schema: CompiledSchema,
    object: KubeObject,
    { old, subtree, beside = [], metadataErrors = [], request }: SlowCheckOptions,
  ): Promise<{ readonly errors: FieldError[]; readonly warnings: readonly string[]; readonly cost: number }> {
    const { hash } = schema;
    const text = textOf(object, cluster);
    const oldText = textOfOld(old, cluster);
    const job = {
      kind: 'object',
      hash,
      object: text instanceof Promise ? await text : text,
      old: oldText instanceof Promise ? await oldText : oldText,
      subtree,
      beside,
      metadataErrors,
    } as const;
    const source = (): string => encodeJson(schema.source);
    const sender = { cluster, bytes: job.object.length + (job.old?.length ?? 0), request };
    let result = await this.#check(sender, { ...job, schema: this.#sentSchemas.has(hash) ? undefined : source() });
    if ('missing' in result) result = await this.#check(sender, { ...job, schema: source() });
    if ('missing' in result) throw new TypeError('the schema thread did not accept the schema');
    if (this.#sentSchemas.size > 200) this.#sentSchemas.clear();
    this.#sentSchemas.add(hash);
    return { errors: decodeErrors(result), warnings: result.warnings, cost: result.cost };
  }

  async expression(cluster: string, job: ExpressionJob, request?: Abortable): Promise<ExpressionJobResult> {
    const bytes = (job.object?.length ?? 0) + (job.oldObject?.length ?? 0) + (job.params?.length ?? 0);
    return (await this.#run({ cluster, bytes, request }, job)) as ExpressionJobResult;
  }

  async #check(sender: Sender, job: SchemaJob): Promise<SchemaAnswer> {
    return (await this.#run(sender, job)) as SchemaAnswer;
  }

  /**
   * Throws 429 if too many jobs of the logical cluster are queued, 503 on shutdown, 413 if the job exceeds its time or
   * memory, the reason of the signal if the request was aborted.
   */
  async #run({ cluster, bytes, request }: Sender, job: ThreadJob): Promise<ThreadAnswer> {
    try {
      return await this.#threads.run(job, { lane: cluster, bytes, request });
    } catch (error) {
      if (!(error instanceof JobThreadError)) throw error;
      switch (error.failure) {
        case 'busy':
          throw statusErrors.tooManyRequests(
            'too many objects of this workspace that take long to validate are queued, try again later',
            1,
          );
        case 'stopped':
          throw statusErrors.serviceUnavailable('the server is shutting down', 1);
        case 'slow':
        case 'memory':
          throw statusErrors.tooLarge('validation of the object takes too much time or memory');
      }
    }
  }
}

/** For whom a job is run, and the memory that it holds while it is queued. */
interface Sender {
  readonly cluster: string;
  readonly bytes: number;
  readonly request: Abortable | undefined;
}

type CompilingCheck<T> = (mayCompile: MayCompile, isOverdue: IsOverdue) => T;

const compileNothing: MayCompile = () => false;
/** At once while the time slice lasts: an object of 60,000 items takes 50 ms. */
function textOf(object: KubeObject, lane: string): string | Promise<string> {
  const steps = encodeJsonIncrementally(asJson(object));
  const slices = timeSlices(lane);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (slices.isExceeded) return slices.yield().then(() => runInTimeSlices(steps, lane));
  }
}
const textOfOld = (old: DeepReadonly<KubeObject> | undefined, lane: string): string | undefined | Promise<string> =>
  old === undefined ? undefined : textOf(old as KubeObject, lane);

/** Responses count the errors that the thread did not send, and contain none of them: the last one that it sent is in their place. */
function decodeErrors({ errors, more }: SentErrors): FieldError[] {
  const decoded = errors.map(decodeError);
  const last = decoded.at(-1);
  return last === undefined ? decoded : decoded.concat(Array.from({ length: more }, () => last));
}

function decodeError({ value, omitted, ...error }: SentError): FieldError {
  if (omitted === true) return { ...error, value: omittedValue };
  return value === undefined ? error : { ...error, value: parseJson(value) };
}
