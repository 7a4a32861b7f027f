import type { Queuing } from './flow-control-configuration.ts';
import { dealHand } from './shuffle-shard.ts';

/** What a queue set knows about a request. One object per request, which keeps its place in the set. */
export class QueuedRequest {
  /** Hash of the logical cluster, which chooses the queues, and of what distinguishes flows within it. */
  clusterHash = 0;
  flowHash = 0;
  /** Seats that the request occupies while it executes. */
  seats = 1;
  /** Seat-milliseconds of work that follows from it after its end, such as watch events. */
  extraWork = 0;
  state: 'idle' | 'queued' | 'executing' = 'idle';
  /** Time of arrival in the queue, and of the start of its execution, in milliseconds. */
  queuedAt = 0;
  startedAt = 0;
  /** The queue to which its work is charged; undefined: it started while most seats were free. */
  queue: Queue | undefined = undefined;
  /** Neighbours in the queue. */
  previous: QueuedRequest | undefined = undefined;
  next: QueuedRequest | undefined = undefined;
}

interface Queue {
  readonly number: number;
  first: QueuedRequest | undefined;
  last: QueuedRequest | undefined;
  length: number;
  waitingSeats: number;
  executing: number;
  executingSeats: number;
  /** Virtual time at which its next request would have started if all queues were served bit by bit. */
  virtualStart: number;
  /** Virtual time at which its first request would end: the order of the heap. */
  virtualFinish: number;
  /** Index in the heap, -1: no request waits. */
  place: number;
}

export type Admission = 'executing' | 'queued' | 'queue-full' | 'concurrency-limit';

/** The reciprocal of the share of seats that is for queues that execute nothing. */
const reservedShare = 8;

/** Assumed duration of a request in milliseconds, corrected when it ends; as in kube-apiserver. */
const estimatedMs = 3;

/**
 * The queues of one priority level: fair queuing for server requests (KEP-1040; Kubernetes:
 * apiserver/pkg/util/flowcontrol/fairqueuing/queueset).
 *
 * ```
 *  arrival   most seats free and no request waits: executes, without a queue
 *            else the shortest of the flow's queues; full: rejected
 *  dispatch  the queue whose first request has the earliest virtual finish time; if it needs more seats than are free, only
 *            queues that execute nothing overtake it, and none if its own is one of these
 *  end       the queue's virtual start is corrected by the difference of the real duration and the estimate
 * ```
 *
 * Virtual time advances by `min(seats demanded, seats) / queues in use` per millisecond, so each queue in use gets the same
 * seat-time. Queues that become active start at the current virtual time, or beside the queue that is next: an idle flow
 * saves up nothing.
 *
 * A logical cluster has a hand of `handSize` queues, by shuffle sharding, and each of its flows half of this hand. So users
 * of one workspace, of whom its administrator can impersonate any number, never fill more than `handSize` queues.
 *
 * The last eighth of the seats is for queues that execute nothing. Requests of one flow may execute for a second each, together,
 * and none of them ends soon: without free seats a flow with short requests would wait for that whole second.
 *
 * Dispatch and end take O(log queues), arrival O(handSize). Dispatch takes O(queues) while only the last seats are free.
 */
export class FairQueueSet {
  readonly #queuing: Queuing | undefined;
  readonly #now: () => number;
  readonly #queues: Queue[] = [];
  /** Queues with waiting requests, a binary heap by {@link Queue.virtualFinish}. */
  readonly #heap: Queue[] = [];
  readonly #hand: Uint32Array;
  readonly #flowHand: Uint32Array;
  #seatLimit: number;
  #virtualTime = 0;
  #updatedAt = 0;
  /** Queues with waiting or executing requests. */
  #active = 0;
  waiting = 0;
  waitingSeats = 0;
  executing = 0;
  executingSeats = 0;
  /** Largest number of executing and waiting seats since {@link takeHighWatermark}. */
  #highWatermark = 0;

  /** `queuing` undefined: requests without a seat are rejected. `now` returns milliseconds of a monotonic clock. */
  constructor(
    options: { readonly seats: number; readonly queuing: Queuing | undefined },
    modules: { readonly now: () => number },
  ) {
    this.#seatLimit = options.seats;
    this.#queuing = options.queuing;
    this.#now = modules.now;
    const handSize = options.queuing?.handSize ?? 0;
    this.#hand = new Uint32Array(handSize);
    this.#flowHand = new Uint32Array(Math.ceil(handSize / 2));
  }

  get seatLimit(): number {
    return this.#seatLimit;
  }
  set seatLimit(seats: number) {
    this.#advance();
    this.#seatLimit = seats;
  }

  /** True if {@link dispatch} returns a request. */
  get canDispatch(): boolean {
    return this.#nextQueue() !== undefined;
  }

  /** The largest demand for seats since the last call. */
  takeHighWatermark(): number {
    const result = this.#highWatermark;
    this.#highWatermark = this.executingSeats + this.waitingSeats;
    return result;
  }

  /** Starts a request if no other waits and most seats are free; its hashes are not used. */
  startAtOnce(request: QueuedRequest): boolean {
    const total = this.executingSeats + request.seats;
    if (this.waiting > 0 || total > this.#seatLimit / 2) return false;
    request.queue = undefined;
    request.state = 'executing';
    this.executing++;
    this.executingSeats = total;
    if (total > this.#highWatermark) this.#highWatermark = total;
    return true;
  }

  /** A request arrives. `mayStart` false: it is queued even if there are seats, because the event loop is busy. */
  admit(request: QueuedRequest, mayStart: boolean): Admission {
    if (mayStart && this.startAtOnce(request)) return 'executing';
    return this.#queuing === undefined ? this.#admitWithoutQueue(request) : this.#admitToQueue(request, mayStart);
  }

  #admitWithoutQueue(request: QueuedRequest): Admission {
    this.#raiseWatermark(request.seats);
    if (!this.#hasSeats(request.seats)) return 'concurrency-limit';
    request.queue = undefined;
    request.state = 'executing';
    this.executing++;
    this.executingSeats += request.seats;
    return 'executing';
  }

  #admitToQueue(request: QueuedRequest, mayStart: boolean): Admission {
    this.#advance();
    this.#raiseWatermark(request.seats);
    const queue = this.#choose(request);
    if (queue.length === 0 && queue.executing === 0) {
      queue.virtualStart = this.#startOfActiveQueue();
      this.#active++;
    }
    request.queue = queue;
    if (mayStart && this.waiting === 0 && this.#mayExecute(queue, request.seats)) {
      this.#start(request, queue);
      return 'executing';
    }
    if (queue.length >= (this.#queuing as Queuing).queueLengthLimit) {
      request.queue = undefined;
      return 'queue-full';
    }
    this.#append(request, queue);
    return 'queued';
  }

  /**
   * Requests are charged at their end, so queues whose requests execute for long are behind the virtual time by what these
   * have used so far. A queue that becomes active starts beside the first of them, not behind all of their waiting requests.
   */
  #startOfActiveQueue(): number {
    const first = this.#heap[0];
    return first === undefined ? this.#virtualTime : Math.min(this.#virtualTime, first.virtualStart);
  }

  /** Starts the next request; undefined if none waits, or its seats are occupied. */
  dispatch(): QueuedRequest | undefined {
    const queue = this.#nextQueue();
    const request = queue?.first;
    if (queue === undefined || request === undefined) return undefined;
    this.#advance();
    this.#unlink(request, queue);
    this.#start(request, queue);
    this.#reorder(queue);
    return request;
  }

  /** An executing request ends or a queued one is withdrawn. No effect on others. */
  remove(request: QueuedRequest): void {
    const { queue, state, seats } = request;
    if (state === 'idle') return;
    request.state = 'idle';
    request.queue = undefined;
    if (state === 'executing') {
      this.executing--;
      this.executingSeats -= seats;
    }
    if (queue === undefined) return;
    this.#advance();
    if (state === 'queued') {
      this.#unlink(request, queue);
    } else {
      queue.executing--;
      queue.executingSeats -= seats;
      queue.virtualStart += seats * (this.#updatedAt - request.startedAt - estimatedMs) + request.extraWork;
    }
    if (queue.length === 0 && queue.executing === 0) this.#active--;
    this.#reorder(queue);
  }

  /** The waiting requests that arrived before `time`. */
  *queuedBefore(time: number): Iterable<QueuedRequest> {
    for (const queue of this.#heap.slice()) {
      let request = queue.first;
      while (request !== undefined && request.queuedAt < time) {
        const { next } = request;
        yield request;
        request = next;
      }
    }
  }

  /** The queue whose first request is next; undefined if none has a request that may execute. */
  #nextQueue(): Queue | undefined {
    const head = this.#heap[0];
    if (head?.first === undefined) return undefined;
    if (this.#mayExecute(head, head.first.seats)) return head;
    // A wide request waits until its seats are free, and is not overtaken unless its queue executes something already.
    if (head.executing === 0) return undefined;
    let next: Queue | undefined;
    for (const queue of this.#heap) {
      if (queue.executing > 0 || queue.first === undefined || !this.#hasSeats(queue.first.seats)) continue;
      // One that has had its share would get all seats that the head's width leaves, in addition.
      if (queue.virtualStart > head.virtualFinish) continue;
      if (next === undefined || queue.virtualFinish < next.virtualFinish) next = queue;
    }
    return next;
  }

  #mayExecute(queue: Queue, seats: number): boolean {
    if (!this.#hasSeats(seats)) return false;
    const reserved = Math.floor(this.#seatLimit / reservedShare);
    return queue.executing === 0 || this.executingSeats + seats <= this.#seatLimit - reserved;
  }

  /** A request wider than all seats executes alone. */
  #hasSeats(seats: number): boolean {
    return this.executingSeats === 0 || this.executingSeats + seats <= this.#seatLimit;
  }

  #raiseWatermark(seats: number): void {
    const demand = this.executingSeats + this.waitingSeats + seats;
    if (demand > this.#highWatermark) this.#highWatermark = demand;
  }

  #advance(): void {
    const now = this.#now();
    if (this.#active > 0) {
      const rate = Math.min(this.executingSeats + this.waitingSeats, this.#seatLimit) / this.#active;
      this.#virtualTime += (now - this.#updatedAt) * rate;
    }
    this.#updatedAt = now;
  }

  /** The queue of the flow's hand with the least seats in demand. */
  #choose({ clusterHash, flowHash }: QueuedRequest): Queue {
    const { queues, handSize } = this.#queuing as Queuing;
    dealHand(clusterHash, queues, handSize, this.#hand);
    dealHand(flowHash, handSize, this.#flowHand.length, this.#flowHand);
    let best: Queue | undefined;
    for (const card of this.#flowHand) {
      const number = this.#hand[card] as number;
      const queue = (this.#queues[number] ??= newQueue(number));
      if (best === undefined || queue.waitingSeats + queue.executingSeats < best.waitingSeats + best.executingSeats)
        best = queue;
    }
    return best as Queue;
  }

  #start(request: QueuedRequest, queue: Queue): void {
    const { seats } = request;
    request.state = 'executing';
    request.startedAt = this.#updatedAt;
    this.executing++;
    this.executingSeats += seats;
    queue.executing++;
    queue.executingSeats += seats;
    queue.virtualStart += seats * estimatedMs;
  }

  #append(request: QueuedRequest, queue: Queue): void {
    request.state = 'queued';
    request.queuedAt = this.#updatedAt;
    request.next = undefined;
    request.previous = queue.last;
    if (queue.last === undefined) queue.first = request;
    else queue.last.next = request;
    queue.last = request;
    queue.length++;
    queue.waitingSeats += request.seats;
    this.waiting++;
    this.waitingSeats += request.seats;
    if (queue.length === 1) this.#reorder(queue);
  }

  #unlink(request: QueuedRequest, queue: Queue): void {
    const { previous, next } = request;
    if (previous === undefined) queue.first = next;
    else previous.next = next;
    if (next === undefined) queue.last = previous;
    else next.previous = previous;
    request.previous = undefined;
    request.next = undefined;
    queue.length--;
    queue.waitingSeats -= request.seats;
    this.waiting--;
    this.waitingSeats -= request.seats;
  }

  /** Restores the heap after the first request or the virtual start of a queue changed. */
  #reorder(queue: Queue): void {
    const { first } = queue;
    if (first === undefined) {
      if (queue.place >= 0) this.#removeFromHeap(queue);
      return;
    }
    queue.virtualFinish = queue.virtualStart + first.seats * estimatedMs;
    if (queue.place < 0) {
      queue.place = this.#heap.length;
      this.#heap.push(queue);
    }
    this.#siftUp(queue);
    this.#siftDown(queue);
  }

  #removeFromHeap(queue: Queue): void {
    const last = this.#heap.pop() as Queue;
    if (last !== queue) {
      last.place = queue.place;
      this.#heap[last.place] = last;
      this.#siftUp(last);
      this.#siftDown(last);
    }
    queue.place = -1;
  }

  #siftUp(queue: Queue): void {
    const heap = this.#heap;
    let { place } = queue;
    while (place > 0) {
      const parent = heap[(place - 1) >> 1] as Queue;
      if (parent.virtualFinish <= queue.virtualFinish) break;
      heap[place] = parent;
      parent.place = place;
      place = (place - 1) >> 1;
      heap[place] = queue;
      queue.place = place;
    }
  }

  #siftDown(queue: Queue): void {
    const heap = this.#heap;
    for (let { place } = queue; ; place = queue.place) {
      let child = heap[2 * place + 1];
      if (child === undefined) return;
      const right = heap[2 * place + 2];
      if (right !== undefined && right.virtualFinish < child.virtualFinish) child = right;
      if (child.virtualFinish >= queue.virtualFinish) return;
      queue.place = child.place;
      heap[queue.place] = queue;
      child.place = place;
      heap[place] = child;
    }
  }
}

function newQueue(number: number): Queue {
  return {
    number,
    first: undefined,
    last: undefined,
    length: 0,
    waitingSeats: 0,
    executing: 0,
    executingSeats: 0,
    virtualStart: 0,
    virtualFinish: 0,
    place: -1,
  };
}
