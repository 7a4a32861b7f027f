/** A job that waits for a thread. */
export interface QueuedJob<Job, Answer> {
  readonly job: Job;
  readonly lane: string;
  /** Memory that it holds. */
  readonly bytes: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

export interface JobQueueLimits {
  readonly maxQueuedPerLane: number;
  readonly maxQueued: number;
  /** In total; a lane may hold a quarter of them. */
  readonly maxQueuedBytes: number;
}

interface Lane<Job, Answer> {
  readonly name: string;
  readonly jobs: QueuedJob<Job, Answer>[];
  bytes: number;
  isRunning: boolean;
  /** Milliseconds of threads that the lane has used, counted from {@link JobQueue} `#now` at its first job. */
  usedMs: number;
}

/**
 * Jobs by lane, with fair scheduling between lanes (start-time fair queuing): the lane that has used the least thread time
 * is next. A lane that becomes active starts at the time of the last lane that was served, so that an idle past gives no
 * credit. Jobs of one lane run one after the other, in their order.
 *
 * A lane beyond its limits is refused. When all lanes together exceed a limit, the longest one loses its last job, so that a
 * flood does not refuse others.
 */
export class JobQueue<Job, Answer> {
  readonly #limits: JobQueueLimits;
  /** Lanes with queued or running jobs. */
  readonly #lanes = new Map<string, Lane<Job, Answer>>();
  #queued = 0;
  #bytes = 0;
  /** Used time of the lane that was served last. */
  #now = 0;

  constructor(limits: JobQueueLimits) {
    this.#limits = limits;
  }

  /** Whether a job may start now. */
  get hasNext(): boolean {
    return this.#next() !== undefined;
  }

  /** Returns the job that is refused: this one, or the last one of the longest lane. */
  add(job: QueuedJob<Job, Answer>): QueuedJob<Job, Answer> | undefined {
    const { maxQueuedPerLane, maxQueued, maxQueuedBytes } = this.#limits;
    const lane = this.#lanes.get(job.lane) ?? this.#newLane(job.lane);
    const isFull = lane.jobs.length > 0 && lane.bytes + job.bytes > maxQueuedBytes / 4;
    if (lane.jobs.length >= maxQueuedPerLane || isFull) return job;
    this.#lanes.set(lane.name, lane);
    lane.jobs.push(job);
    this.#count(lane, job, 1);
    if (this.#queued <= maxQueued && this.#bytes <= maxQueuedBytes) return undefined;
    return this.#removeLast();
  }

  /** Takes the first job of the next lane, which is occupied until {@link ended}. */
  take(): QueuedJob<Job, Answer> | undefined {
    const lane = this.#next();
    const job = lane?.jobs.shift();
    if (lane === undefined || job === undefined) return undefined;
    lane.isRunning = true;
    this.#now = Math.max(this.#now, lane.usedMs);
    this.#count(lane, job, -1);
    return job;
  }

  /** The running job of a lane has ended. */
  ended(name: string, ms: number): void {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return;
    lane.isRunning = false;
    lane.usedMs += ms;
    this.#drop(lane);
  }

  /** Removes a job that has not been taken; false if it has. */
  remove(job: QueuedJob<Job, Answer>): boolean {
    const lane = this.#lanes.get(job.lane);
    const index = lane?.jobs.indexOf(job) ?? -1;
    if (lane === undefined || index < 0) return false;
    lane.jobs.splice(index, 1);
    this.#count(lane, job, -1);
    this.#drop(lane);
    return true;
  }

  clear(): QueuedJob<Job, Answer>[] {
    const jobs = [...this.#lanes.values()].flatMap((lane) => lane.jobs);
    this.#lanes.clear();
    this.#queued = 0;
    this.#bytes = 0;
    return jobs;
  }

  #next(): Lane<Job, Answer> | undefined {
    let next: Lane<Job, Answer> | undefined;
    for (const lane of this.#lanes.values())
      if (!lane.isRunning && lane.jobs.length > 0 && (next === undefined || lane.usedMs < next.usedMs)) next = lane;
    return next;
  }

  #newLane(name: string): Lane<Job, Answer> {
    return { name, jobs: [], bytes: 0, isRunning: false, usedMs: this.#now };
  }

  #removeLast(): QueuedJob<Job, Answer> | undefined {
    let longest: Lane<Job, Answer> | undefined;
    for (const lane of this.#lanes.values())
      if (longest === undefined || lane.jobs.length > longest.jobs.length || lane.bytes > longest.bytes * 2)
        longest = lane;
    const job = longest?.jobs.pop();
    if (longest !== undefined && job !== undefined) {
      this.#count(longest, job, -1);
      this.#drop(longest);
    }
    return job;
  }

  #count(lane: Lane<Job, Answer>, { bytes }: QueuedJob<Job, Answer>, sign: 1 | -1): void {
    this.#queued += sign;
    this.#bytes += sign * bytes;
    lane.bytes += sign * bytes;
  }

  /** A lane that has used more than the others keeps its debt while it has jobs. */
  #drop(lane: Lane<Job, Answer>): void {
    if (lane.jobs.length === 0 && !lane.isRunning) this.#lanes.delete(lane.name);
  }
}
