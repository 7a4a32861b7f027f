import type { UserInfo } from '@multiplane/apimachinery';
import type { RequestInfo } from '../request/request-info.ts';
import { QueuedRequest, type FairQueueSet } from './fair-queue-set.ts';
import type { FlowSchemaSeries } from './flow-control-metrics.ts';
import type { PriorityLevel } from './flow-control-configuration.ts';
import type { RetryAfter } from './retry-after.ts';
import { hashText } from './shuffle-shard.ts';

/** A priority level with its requests. */
export interface Level {
  configuration: PriorityLevel;
  /** Undefined: exempt. */
  set: FairQueueSet | undefined;
  nominalSeats: number;
  /** Largest number of seats of one request. */
  maxSeatsOfRequest: number;
  /** Smoothed demand for seats. */
  demand: number;
  readonly retryAfter: RetryAfter;
}

/** What a request belongs to: its FlowSchema and priority level. One object per FlowSchema. */
export class FlowClass {
  readonly schemaName: string;
  readonly schemaUid: string;
  readonly distinguisher: 'ByUser' | 'ByNamespace' | undefined;
  readonly level: Level;
  readonly series: FlowSchemaSeries | undefined;
  /** Executing requests, if the level is exempt. */
  executing = 0;

  constructor(
    schema: {
      readonly name: string;
      readonly uid: string;
      readonly distinguisher: 'ByUser' | 'ByNamespace' | undefined;
    },
    level: Level,
    series: FlowSchemaSeries | undefined,
  ) {
    this.schemaName = schema.name;
    this.schemaUid = schema.uid;
    this.distinguisher = schema.distinguisher;
    this.level = level;
    this.series = series;
  }

  /** An exempt request ends; the same method as of a ticket. */
  release(): void {
    this.executing--;
  }
}

/** A request in a queue set; it may occupy its seats several times, one after the other. */
export class FlowTicket extends QueuedRequest {
  readonly flow: FlowClass;
  readonly #user: UserInfo;
  readonly #info: RequestInfo;
  /** The set that it was admitted to, which a change of the configuration may replace. */
  set: FairQueueSet | undefined;
  /** Of a ticket that waits. */
  settle: ((error?: Error) => void) | undefined;
  isReleased = false;

  constructor(flow: FlowClass, user: UserInfo, info: RequestInfo) {
    super();
    this.flow = flow;
    this.#user = user;
    this.#info = info;
  }

  /** Computes what chooses the queues; most requests need none. */
  hash(seed: number): void {
    if (this.clusterHash !== 0) return;
    const { distinguisher } = this.flow;
    this.clusterHash = hashText(seed, this.#info.cluster ?? '');
    this.flowHash =
      distinguisher === undefined
        ? this.clusterHash
        : hashText(this.clusterHash, distinguisher === 'ByUser' ? this.#user.name : this.#info.namespace);
  }
}
