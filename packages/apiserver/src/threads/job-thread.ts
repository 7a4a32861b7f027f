import { Worker } from 'node:worker_threads';
import type { Clock, Runnable, Timer } from '@multiplane/component-base';

export interface JobThreadOptions {
  readonly name: string;
  /** The module that the thread runs, next to the one at `from`, without its extension. */
  readonly module: string;
  /** `import.meta.url` of the caller: sources and build output have different extensions. */
  readonly from: string;
  /** Deadline of a job; legitimate jobs are far below it. */
  readonly deadlineMs: number;
  /** Limit of queued jobs, which are held in memory. */
  readonly maxQueued: number;
  /** Limit of queued jobs per lane; default: no separate limit. */
  readonly maxQueuedPerLane?: number | undefined;
  /** Heap limit of the thread in MiB. A job that exceeds it fails, and the thread is replaced. */
  readonly heapMiB: number;
}

/** Why a job failed. */
export type JobFailure = 'busy' | 'stopped' | 'slow' | 'memory';

export class JobThreadError extends Error {
  override readonly name = 'JobThreadError';
  readonly failure: JobFailure;

  constructor(failure: JobFailure) {
    super(`job failed: ${failure}`);
    this.failure = failure;
  }
}

/** A thread takes some 10 MB and is rarely needed, so it ends when idle for this time. */
const idleMs = 30_000;

interface Pending<Job, Answer> {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs expensive jobs outside of the event loop: one at a time in a worker thread, which starts with the first job and
 * ends when idle. Queued jobs are served round-robin by lane. If the thread dies or a job exceeds its deadline, only
 * that job fails, and the next one gets a new thread. The module of the thread replies to each message with one
 * message; an uncaught error ends it.
 */
export class JobThread<Job, Answer> implements Runnable {
  readonly name: string;
  readonly #options: JobThreadOptions;
  readonly #clock: Clock;
  /** Queued jobs by lane; the next lane is first. */
  readonly #lanes = new Map<string, Pending<Job, Answer>[]>();
  #queued = 0;
  #current: Pending<Job, Answer> | undefined;
  #thread: Worker | undefined;
  /** The deadline of the current job, or the idle timeout. */
  #timer: Timer | undefined;

  constructor(options: JobThreadOptions, modules: { readonly clock: Clock }) {
    this.name = options.name;
    this.#options = options;
    this.#clock = modules.clock;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const jobs = [...this.#lanes.values()].flat();
    this.#lanes.clear();
    this.#queued = 0;
    if (this.#current !== undefined) jobs.push(this.#current);
    this.#current = undefined;
    for (const job of jobs) job.reject(new JobThreadError('stopped'));
    await this.#endThread();
  }

  /** Queues a job. Rejects with {@link JobThreadError}, or with the error that ended the thread. */
  run(job: Job, lane = ''): Promise<Answer> {
    const { maxQueued, maxQueuedPerLane = maxQueued } = this.#options;
    const queue = this.#lanes.get(lane);
    if (this.#queued >= maxQueued || (queue?.length ?? 0) >= maxQueuedPerLane)
      return Promise.reject(new JobThreadError('busy'));
    return new Promise((resolve, reject) => {
      const pending = { job, resolve, reject };
      if (queue === undefined) this.#lanes.set(lane, [pending]);
      else queue.push(pending);
      this.#queued++;
      this.#runNext();
    });
  }

  /** Dequeues the first job of the next lane; the lane moves to the end. */
  #dequeue(): Pending<Job, Answer> | undefined {
    for (const [lane, jobs] of this.#lanes) {
      this.#lanes.delete(lane);
      const job = jobs.shift();
      if (jobs.length > 0) this.#lanes.set(lane, jobs);
      this.#queued--;
      return job;
    }
    return undefined;
  }

  #runNext(): void {
    if (this.#current !== undefined) return;
    this.#timer?.cancel();
    this.#current = this.#dequeue();
    if (this.#current === undefined) {
      this.#timer = this.#clock.after(idleMs, () => void this.#endThread());
      return;
    }
    this.#thread ??= this.#startThread();
    this.#thread.postMessage(this.#current.job);
    this.#timer = this.#clock.after(this.#options.deadlineMs, () => {
      void this.#endThread();
      this.#fail(new JobThreadError('slow'));
    });
  }

  #startThread(): Worker {
    const { from, module, heapMiB } = this.#options;
    const fromSource = from.endsWith('.ts');
    const thread = new Worker(new URL(`${module}${fromSource ? '.ts' : '.js'}`, from), {
      name: this.name,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      execArgv: fromSource ? ['--conditions=multiplane-source', '--disable-warning=ExperimentalWarning'] : [],
      env: {},
    });
    // The thread must not keep the process alive.
    thread.unref();
    thread.on('message', (answer: Answer) => {
      if (this.#thread !== thread) return;
      this.#clearCurrent()?.resolve(answer);
      this.#runNext();
    });
    thread.on('error', (error: Error) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#fail('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new JobThreadError('memory') : error);
    });
    return thread;
  }

  #fail(error: Error): void {
    this.#clearCurrent()?.reject(error);
    this.#runNext();
  }

  #clearCurrent(): Pending<Job, Answer> | undefined {
    const job = this.#current;
    this.#current = undefined;
    return job;
  }

  async #endThread(): Promise<void> {
    this.#timer?.cancel();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.terminate();
  }
}
