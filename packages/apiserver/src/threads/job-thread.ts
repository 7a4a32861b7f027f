import { Worker } from 'node:worker_threads';
import type { Clock, Runnable, Timer } from '@multiplane/component-base';

export interface JobThreadOptions {
  readonly name: string;
  /** The module of the thread, beside the one at `from`, without its extension. */
  readonly module: string;
  /** `import.meta.url` of whoever knows the module: sources and build have different extensions. */
  readonly from: string;
  /** What needs longer was made to. */
  readonly deadlineMs: number;
  /** Jobs that may wait; they are held in memory. */
  readonly maxWaiting: number;
  /** Of them, those of one lane; absent: all. */
  readonly maxWaitingPerLane?: number | undefined;
  /** Of a thread's heap, in MiB. A job that needs more fails, and the thread is replaced. */
  readonly heapMiB: number;
}

/** Why a job was not done. */
export type JobFailure = 'busy' | 'stopped' | 'slow' | 'memory';

export class JobThreadError extends Error {
  override readonly name = 'JobThreadError';
  readonly failure: JobFailure;

  constructor(failure: JobFailure) {
    super(`a job was not done: ${failure}`);
    this.failure = failure;
  }
}

/** A thread costs some 10 MB and is seldom needed: it goes when nothing came for this long. */
const idleMs = 30_000;

interface Pending<Job, Answer> {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Keeps long work from holding the event loop: one job after the other in a thread, which starts with the first and ends
 * when idle. Jobs wait in lanes, which take turns. A thread that dies or exceeds the deadline takes its job with it and nothing else: the next job gets a new
 * one. The thread's module answers each message with one message; what it throws ends it.
 */
export class JobThread<Job, Answer> implements Runnable {
  readonly name: string;
  readonly #options: JobThreadOptions;
  readonly #clock: Clock;
  /** By lane, the one whose turn it is first. */
  readonly #lanes = new Map<string, Pending<Job, Answer>[]>();
  #waiting = 0;
  #current: Pending<Job, Answer> | undefined;
  #thread: Worker | undefined;
  /** Of the current job, or of idleness. */
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
    this.#waiting = 0;
    if (this.#current !== undefined) jobs.push(this.#current);
    this.#current = undefined;
    for (const job of jobs) job.reject(new JobThreadError('stopped'));
    await this.#endThread();
  }

  /** Lanes take turns. Throws {@link JobThreadError}, or what ended the thread. */
  run(job: Job, lane = ''): Promise<Answer> {
    const { maxWaiting, maxWaitingPerLane = maxWaiting } = this.#options;
    const ahead = this.#lanes.get(lane);
    if (this.#waiting >= maxWaiting || (ahead?.length ?? 0) >= maxWaitingPerLane)
      return Promise.reject(new JobThreadError('busy'));
    return new Promise((resolve, reject) => {
      const pending = { job, resolve, reject };
      if (ahead === undefined) this.#lanes.set(lane, [pending]);
      else ahead.push(pending);
      this.#waiting++;
      this.#next();
    });
  }

  /** The first job of the lane whose turn it is; the lane goes behind the others. */
  #shift(): Pending<Job, Answer> | undefined {
    for (const [lane, jobs] of this.#lanes) {
      this.#lanes.delete(lane);
      const job = jobs.shift();
      if (jobs.length > 0) this.#lanes.set(lane, jobs);
      this.#waiting--;
      return job;
    }
    return undefined;
  }

  #next(): void {
    if (this.#current !== undefined) return;
    this.#timer?.cancel();
    this.#current = this.#shift();
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
    // It must not keep a process alive that has nothing else to do.
    thread.unref();
    thread.on('message', (answer: Answer) => {
      if (this.#thread !== thread) return;
      this.#take()?.resolve(answer);
      this.#next();
    });
    thread.on('error', (error: Error) => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#fail('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new JobThreadError('memory') : error);
    });
    return thread;
  }

  #fail(error: Error): void {
    this.#take()?.reject(error);
    this.#next();
  }

  #take(): Pending<Job, Answer> | undefined {
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
