import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FairQueueSet, QueuedRequest, type Admission } from './fair-queue-set.ts';
import { dealHand, hashText } from './shuffle-shard.ts';

const queuing = { queues: 128, handSize: 6, queueLengthLimit: 50 };

class Simulation {
  now = 0;
  readonly set: FairQueueSet;
  constructor(seats: number, queues: typeof queuing | 'reject' = queuing) {
    this.set = new FairQueueSet({ seats, queuing: queues === 'reject' ? undefined : queues }, { now: () => this.now });
  }

  request(flow: string, seats = 1, cluster = flow): QueuedRequest {
    const request = new QueuedRequest();
    request.clusterHash = hashText(1, cluster);
    request.flowHash = hashText(2, flow);
    request.seats = seats;
    return request;
  }

  admit(request: QueuedRequest): Admission {
    return this.set.admit(request, true);
  }
}

describe('without contention', () => {
  test('requests execute at once up to the number of seats, then wait in order', () => {
    const on = new Simulation(3);
    const requests = Array.from({ length: 5 }, () => on.request('a'));
    expect(requests.map((request) => on.admit(request))).toEqual([
      'executing',
      'executing',
      'executing',
      'queued',
      'queued',
    ]);
    expect([on.set.executing, on.set.waiting, on.set.canDispatch]).toEqual([3, 2, false]);
    on.set.remove(requests[0] as QueuedRequest);
    expect(on.set.dispatch()).toBe(requests[3]);
    expect(on.set.dispatch()).toBeUndefined();
    on.set.remove(requests[4] as QueuedRequest);
    expect(on.set.waiting).toBe(0);
  });

  test('a request that may not start waits although there are seats', () => {
    const on = new Simulation(10);
    const request = on.request('a');
    expect(on.set.admit(request, false)).toBe('queued');
    expect(on.set.dispatch()).toBe(request);
  });

  test('a request wider than all seats executes alone', () => {
    const on = new Simulation(4);
    const wide = on.request('a', 10);
    expect(on.admit(wide)).toBe('executing');
    expect(on.admit(on.request('b'))).toBe('queued');
    on.set.remove(wide);
    expect(on.set.dispatch()).toBeDefined();
  });
});

describe('under contention', () => {
  test('a full queue rejects its flow only', () => {
    const on = new Simulation(1);
    const outcomes = Array.from({ length: 400 }, () => on.admit(on.request('flood')));
    expect(outcomes.filter((outcome) => outcome === 'queue-full').length).toBeGreaterThan(0);
    expect(on.admit(on.request('neighbour'))).toBe('queued');
  });

  test('any number of users of one workspace fills no more than one hand of queues', () => {
    const on = new Simulation(1);
    on.admit(on.request('first'));
    for (let i = 0; i < 5_000; i++) on.admit(on.request(`user-${i}`, 1, 'flooded'));
    expect(on.set.waiting).toBeLessThanOrEqual(queuing.handSize * queuing.queueLengthLimit);
    for (let i = 0; i < 100; i++) expect(on.admit(on.request('user', 1, `workspace-${i}`))).not.toBe('queue-full');
  });

  test('a level without queues rejects what finds no seat', () => {
    const on = new Simulation(1, 'reject');
    const first = on.request('a');
    expect(on.admit(first)).toBe('executing');
    expect(on.admit(on.request('b'))).toBe('concurrency-limit');
    on.set.remove(first);
    expect(on.admit(on.request('b'))).toBe('executing');
  });

  test('a flow that was idle overtakes the backlog of another', () => {
    const on = new Simulation(2);
    const running = [on.request('flood'), on.request('flood')];
    for (const request of running) on.admit(request);
    for (let i = 0; i < 50; i++) on.admit(on.request('flood'));
    on.now += 10;
    const late = on.request('neighbour');
    expect(on.admit(late)).toBe('queued');
    on.set.remove(running[0] as QueuedRequest);
    // At most the queues of the flood's hand are served before.
    const served: QueuedRequest[] = [];
    for (let i = 0; i < 12; i++) {
      const next = on.set.dispatch() as QueuedRequest;
      served.push(next);
      on.now += 3;
      on.set.remove(next);
    }
    expect(served).toContain(late);
  });

  test('a wide request at the front is not overtaken until its seats are free', () => {
    const on = new Simulation(4);
    const running = Array.from({ length: 4 }, () => on.request('a'));
    for (const request of running) on.admit(request);
    const wide = on.request('b', 4);
    on.admit(wide);
    on.now += 1;
    on.admit(on.request('c', 4));
    for (const request of running) {
      expect(on.set.dispatch()).toBeUndefined();
      on.set.remove(request);
    }
    expect(on.set.dispatch()).toBe(wide);
  });
});

/** Flows that always have requests waiting; returns the seat-milliseconds that each got. */
function backlogged(
  flows: readonly { readonly seats: number; readonly ms: number; readonly clients: number }[],
  seats: number,
): number[] {
  const on = new Simulation(seats, { queues: 512, handSize: 1, queueLengthLimit: 1000 });
  const got = flows.map(() => 0);
  const running: { readonly request: QueuedRequest; readonly flow: number; readonly endsAt: number }[] = [];
  const flowOf = new Map<QueuedRequest, number>();
  const start = (request: QueuedRequest): void => {
    const flow = flowOf.get(request) as number;
    running.push({ request, flow, endsAt: on.now + (flows[flow]?.ms ?? 1) });
  };
  const arrive = (flow: number): void => {
    const request = on.request(`flow-${flow}`, flows[flow]?.seats);
    flowOf.set(request, flow);
    if (on.admit(request) === 'executing') start(request);
  };
  for (const [flow, { clients }] of flows.entries()) for (let i = 0; i < clients; i++) arrive(flow);
  while (on.now < 8_000) {
    let first = 0;
    for (const [index, { endsAt }] of running.entries()) if (endsAt < (running[first]?.endsAt ?? 0)) first = index;
    const [ended] = running.splice(first, 1);
    if (ended === undefined) break;
    on.now = ended.endsAt;
    on.set.remove(ended.request);
    flowOf.delete(ended.request);
    const { seats: width = 1, ms = 1 } = flows[ended.flow] ?? {};
    // The first seconds belong to requests that started before there was contention.
    if (on.now > 2_000) got[ended.flow] = (got[ended.flow] ?? 0) + width * ms;
    arrive(ended.flow);
    for (let next = on.set.dispatch(); next !== undefined; next = on.set.dispatch()) start(next);
  }
  return got;
}

test('flows with a backlog get the same seat-time, whatever the number, width and duration of their requests', () => {
  const flow = fc.record({
    seats: fc.integer({ min: 1, max: 4 }),
    ms: fc.integer({ min: 5, max: 100 }),
    clients: fc.integer({ min: 30, max: 120 }),
  });
  fc.assert(
    fc.property(fc.array(flow, { minLength: 2, maxLength: 5 }), fc.integer({ min: 8, max: 20 }), (flows, seats) => {
      // Flows that share a queue share its seats.
      const places = flows.map((_flow, index) => {
        const hand = new Uint32Array(1);
        dealHand(hashText(1, `flow-${index}`), 512, 1, hand);
        return hand[0];
      });
      fc.pre(new Set(places).size === flows.length);
      const got = backlogged(flows, seats);
      const fair = got.reduce((sum, each) => sum + each, 0) / flows.length;
      for (const each of got) {
        expect(each).toBeGreaterThan(fair * 0.85);
        expect(each).toBeLessThan(fair * 1.15);
      }
    }),
    {
      numRuns: 15,
      examples: [
        // Requests of the first fit beside one of four seats, those of the others do not.
        [
          [
            { seats: 3, ms: 14, clients: 30 },
            { seats: 4, ms: 27, clients: 30 },
            { seats: 4, ms: 6, clients: 30 },
            { seats: 2, ms: 5, clients: 30 },
          ],
          9,
        ],
      ],
    },
  );
}, 60_000);

test('counts return to zero after any sequence of operations', () => {
  const step = fc.record({
    what: fc.constantFrom('admit', 'dispatch', 'remove', 'wait'),
    flow: fc.integer({ min: 0, max: 5 }),
    seats: fc.integer({ min: 1, max: 12 }),
    mayStart: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const on = new Simulation(10, { queues: 8, handSize: 2, queueLengthLimit: 5 });
      const all: QueuedRequest[] = [];
      for (const { what, flow, seats, mayStart } of steps) {
        if (what === 'admit') {
          const request = on.request(`flow-${flow}`, seats);
          on.set.admit(request, mayStart);
          all.push(request);
        } else if (what === 'dispatch') on.set.dispatch();
        else if (what === 'remove') on.set.remove(all[flow] ?? new QueuedRequest());
        else on.now += seats;
        const of = (state: string): QueuedRequest[] => all.filter((request) => request.state === state);
        const seatsOf = (state: string): number => of(state).reduce((sum, request) => sum + request.seats, 0);
        const counts = [on.set.executing, on.set.waiting, on.set.executingSeats, on.set.waitingSeats];
        const actual = [of('executing').length, of('queued').length, seatsOf('executing'), seatsOf('queued')];
        if (counts.join() !== actual.join()) throw new Error(`${counts.join()} instead of ${actual.join()}`);
      }
      for (const request of all) on.set.remove(request);
      expect([on.set.executing, on.set.waiting, on.set.executingSeats, on.set.waitingSeats]).toEqual([0, 0, 0, 0]);
    }),
    { numRuns: 100 },
  );
});

test('hands have different cards, and all cards are dealt equally often', () => {
  const hand = new Uint32Array(6);
  const dealt = Array.from({ length: 128 }, () => 0);
  for (let i = 0; i < 5_000; i++) {
    dealHand(hashText(7, `cluster-${i}`), 128, 6, hand);
    if (new Set(hand).size < 6) throw new Error('a card was dealt twice');
    for (const card of hand) dealt[card] = (dealt[card] ?? 0) + 1;
  }
  for (const count of dealt) {
    expect(count).toBeGreaterThan(150);
    expect(count).toBeLessThan(330);
  }
});

test('a flow that becomes active does not wait for the waiting requests of flows whose requests execute for long', () => {
  const on = new Simulation(8, { queues: 8, handSize: 2, queueLengthLimit: 1_000 });
  // The last seat is reserved, so another flow has it.
  const executing = [...Array.from({ length: 7 }, () => on.request('flood')), on.request('other')];
  for (const request of executing) expect(on.admit(request)).toBe('executing');
  for (let n = 0; n < 500; n++) expect(on.admit(on.request('flood'))).toBe('queued');
  // None of them has ended, so none is charged for these ten seconds.
  on.now += 10_000;
  const neighbour = on.request('neighbour');
  expect(on.admit(neighbour)).toBe('queued');
  let dispatched = 0;
  for (; neighbour.state === 'queued'; dispatched++) {
    on.set.remove(executing.shift() as QueuedRequest);
    executing.push(on.set.dispatch() as QueuedRequest);
  }
  expect(dispatched).toBeLessThanOrEqual(8);
});

test('a flow whose requests never end leaves seats for flows that execute nothing', () => {
  const on = new Simulation(16);
  for (let n = 0; n < 100; n++) on.admit(on.request('flood'));
  expect([on.set.executing, on.set.canDispatch]).toEqual([14, false]);
  const neighbours = ['a', 'b', 'c'].map((flow) => on.request(flow));
  for (const neighbour of neighbours) on.admit(neighbour);
  expect([on.set.dispatch(), on.set.dispatch(), on.set.dispatch()]).toEqual([...neighbours.slice(0, 2), undefined]);
  // A reserved seat that is free again is not for the flood, which was first, either.
  on.set.remove(neighbours[0] as QueuedRequest);
  expect(on.set.dispatch()).toBe(neighbours[2]);
});

test('wide requests of a flow that executes some do not keep seats from flows that execute nothing', () => {
  const on = new Simulation(46);
  for (let n = 0; n < 100; n++) on.admit(on.request('flood', 8));
  expect(on.set.executingSeats).toBe(40);
  const neighbour = on.request('neighbour');
  on.admit(neighbour);
  expect(on.set.dispatch()).toBe(neighbour);
});
