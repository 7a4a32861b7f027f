import { Worker } from 'node:worker_threads';
import type { Clock, Runnable, Timer } from '@multiplane/component-base';
import { JobQueue, type QueuedJob } from './job-queue.ts';

export interface JobThreadsOptions {
  readonly name: string;
  /** The module that the threads run, next to the one at `from`, without its extension. */
  readonly module: string;
  /** `import.meta.url` of the caller: sources and build output have different extensions. */
  readonly from: string;
  /** Deadline of a job; legitimate jobs are far below it. */
  readonly deadlineMs: number;
  /** Limits of queued jobs, which are held in memory: per lane and in total. */
  readonly maxQueuedPerLane: number;
  readonly maxQueued: number;
  readonly maxQueuedBytes: number;
  /** Heap limit of a thread in MiB. A job that exceeds it fails, and the thread is replaced. */
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

/** For whom a job runs. */
export interface JobOptions {
  /** Jobs of one lane run one after the other; lanes share the threads fairly. The logical cluster of the request. */
  readonly lane: string;
  /** Memory that the job holds while it is queued. */
  readonly bytes: number;
  /** The request of the job: when it aborts, the job is removed from the queue, or ended if it runs on. */
  readonly request?: { readonly signal?: AbortSignal | undefined } | undefined;
}

/** A thread takes some 10 MB and is rarely needed, so it ends when idle for this time. */
const idleMs = 30_000;
const maxThreads = 3;
/** A job waits this long for one of another lane before a further thread starts, which takes some 100 ms itself. */
const growMs = 100;
/** A job that has run this long is ended if others wait and all threads are occupied. */
const quantumMs = 1_000;
/** A job whose request was aborted may run on for this long: starting another thread takes longer. */
const graceMs = 250;

interface Running<Job, Answer> extends QueuedJob<Job, Answer> {
  readonly startedAt: number;
  deadline: Timer;
}

interface Thread<Job, Answer> {
  readonly worker: Worker;
  /** Whether it has loaded its module. Its job is not sent before. */
  isReady: boolean;
  current: Running<Job, Answer> | undefined;
  /** Ends the thread when it is idle. */
  idle: Timer | undefined;
}

/**
 * Runs expensive jobs outside of the event loop, in worker threads that start on demand and end when idle:
 *
 * ```
 *  a job arrives          a lane beyond its limit is refused; beyond the total limit, the longest lane loses its last job
 *  a thread is free       the lane that has used the least thread time goes next (see JobQueue)
 *  a lane waits 100 ms    a further thread starts for its job, up to three; a thread that is free earlier takes the job
 *  all threads occupied   the job that has run longest, and for a second at least, is ended: its lane is the busy one
 * ```
 *
 * So a lane waits about a second at most for others, however long their jobs are. If a thread dies, or a job exceeds its
 * deadline, only that job fails. The module of the threads sends one message when it is loaded, and then replies to each
 * message with one message (`serveJobs`); an uncaught error ends the thread.
 */
export class JobThreads<Job, Answer> implements Runnable {
  readonly name: string;
  readonly #options: JobThreadsOptions;
  readonly #clock: Clock;
  readonly #queue: JobQueue<Job, Answer>;
  readonly #threads = new Set<Thread<Job, Answer>>();
  /** Set while a lane waits for a thread. */
  #relief: Timer | undefined;

  constructor(options: JobThreadsOptions, modules: { readonly clock: Clock }) {
    this.name = options.name;
    this.#options = options;
    this.#clock = modules.clock;
    this.#queue = new JobQueue(options);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#relief?.cancel();
    this.#relief = undefined;
    const stopped = new JobThreadError('stopped');
    for (const { reject } of this.#queue.clear()) reject(stopped);
    const threads = [...this.#threads];
    for (const { current } of threads) current?.reject(stopped);
    await Promise.all(threads.map((thread) => this.#end(thread)));
  }

  /** Queues a job. Rejects with {@link JobThreadError}, the reason of the signal, or the error that ended the thread. */
  run(job: Job, { lane, bytes, request }: JobOptions): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const signal = request?.signal;
      const pending: QueuedJob<Job, Answer> = {
        job,
        lane,
        bytes,
        resolve: (answer) => {
          signal?.removeEventListener('abort', abort);
          resolve(answer);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', abort);
          reject(error);
        },
      };
      const abort = (): void => this.#abort(pending, (signal as AbortSignal).reason as Error);
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      this.#queue.add(pending)?.reject(new JobThreadError('busy'));
      this.#dispatch();
    });
  }

  /** Gives waiting jobs to free threads. */
  #dispatch(): void {
    for (const thread of this.#threads) if (thread.current === undefined) this.#runNext(thread);
    if (this.#threads.size === 0 && this.#queue.hasNext) this.#runNext(this.#startThread());
    if (this.#queue.hasNext) this.#relief ??= this.#clock.after(growMs, () => this.#relieve());
  }

  #runNext(thread: Thread<Job, Answer>): void {
    const next = (thread.isReady ? this.#takeFromStarting() : undefined) ?? this.#queue.take();
    if (next === undefined) {
      thread.idle ??= this.#clock.after(idleMs, () => void this.#end(thread));
      return;
    }
    thread.idle?.cancel();
    thread.idle = undefined;
    thread.current = {
      ...next,
      startedAt: this.#clock.monotonic(),
      deadline: this.#clock.after(this.#options.deadlineMs, () => this.#replace(thread, new JobThreadError('slow'))),
    };
    if (thread.isReady) thread.worker.postMessage(next.job);
  }

  /**
   * The job of a thread that is still starting, which may take a second on a busy machine: its lane was next before those that
   * are queued.
   */
  #takeFromStarting(): QueuedJob<Job, Answer> | undefined {
    for (const thread of this.#threads) {
      const { current, isReady } = thread;
      if (isReady || current === undefined) continue;
      thread.current = undefined;
      current.deadline.cancel();
      return current;
    }
    return undefined;
  }

  /** A lane has waited: starts a thread, or ends the job that has occupied one for too long. */
  #relieve(): void {
    this.#relief = undefined;
    if (this.#queue.hasNext && this.#threads.size < maxThreads) this.#runNext(this.#startThread());
    else if (this.#queue.hasNext) {
      const now = this.#clock.monotonic();
      let longest: Thread<Job, Answer> | undefined;
      for (const thread of this.#threads) {
        const startedAt = thread.current?.startedAt ?? now;
        if (now - startedAt >= quantumMs && startedAt < (longest?.current?.startedAt ?? now)) longest = thread;
      }
      if (longest !== undefined) this.#replace(longest, new JobThreadError('busy'));
    }
    this.#dispatch();
  }

  #abort(pending: QueuedJob<Job, Answer>, reason: Error): void {
    const isQueued = this.#queue.remove(pending);
    pending.reject(reason);
    if (isQueued) return;
    for (const thread of this.#threads) {
      const { current } = thread;
      if (current?.job !== pending.job) continue;
      if (!thread.isReady) {
        this.#finish(thread);
        this.#dispatch();
        return;
      }
      this.#clock.after(graceMs, () => {
        if (thread.current === current) this.#replace(thread, reason);
      });
    }
  }

  /** Ends the current job of a thread with the thread. */
  #replace(thread: Thread<Job, Answer>, error: Error): void {
    const { current } = thread;
    void this.#end(thread);
    current?.reject(error);
    this.#dispatch();
  }

  /** The current job of a thread has ended; charges its lane. */
  #finish(thread: Thread<Job, Answer>): Running<Job, Answer> | undefined {
    const { current } = thread;
    if (current === undefined) return undefined;
    thread.current = undefined;
    current.deadline.cancel();
    this.#queue.ended(current.lane, this.#clock.monotonic() - current.startedAt);
    return current;
  }

  #startThread(): Thread<Job, Answer> {
    const { from, module, heapMiB } = this.#options;
    const fromSource = from.endsWith('.ts');
    const worker = new Worker(new URL(`${module}${fromSource ? '.ts' : '.js'}`, from), {
      name: this.name,
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
      execArgv: fromSource ? ['--conditions=multiplane-source', '--disable-warning=ExperimentalWarning'] : [],
      env: {},
    });
    const thread: Thread<Job, Answer> = { worker, isReady: false, current: undefined, idle: undefined };
    // Threads must not keep the process alive.
    worker.unref();
    worker.on('message', (answer: Answer) => {
      if (!this.#threads.has(thread)) return;
      if (thread.isReady) this.#finish(thread)?.resolve(answer);
      else {
        thread.isReady = true;
        if (thread.current !== undefined) worker.postMessage(thread.current.job);
      }
      this.#dispatch();
    });
    worker.on('error', (error: Error) => {
      if (!this.#threads.has(thread)) return;
      const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#replace(thread, isMemory ? new JobThreadError('memory') : error);
    });
    this.#threads.add(thread);
    return thread;
  }

  async #end(thread: Thread<Job, Answer>): Promise<void> {
    this.#threads.delete(thread);
    thread.idle?.cancel();
    this.#finish(thread);
    await thread.worker.terminate();
  }
}
