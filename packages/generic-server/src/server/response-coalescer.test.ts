import { describe, expect, test } from '@jest/globals';
import { ResponseCoalescer } from './response-coalescer.ts';

/** A coalescer on event-loop iterations that the test ends. */
function setUp(): {
  readonly coalescer: ResponseCoalescer;
  readonly sent: string[];
  readonly endIteration: () => void;
} {
  let deferred: (() => void)[] = [];
  return {
    coalescer: new ResponseCoalescer({ defer: (run) => deferred.push(run) }),
    sent: [],
    endIteration: () => {
      const due = deferred;
      deferred = [];
      for (const run of due) run();
    },
  };
}

describe('responses of one iteration', () => {
  test('are sent together at its end, in order', () => {
    const { coalescer, sent, endIteration } = setUp();
    for (const name of ['a', 'b', 'c']) coalescer.send(1_000, () => sent.push(name));
    expect(sent).toEqual([]);
    endIteration();
    expect(sent).toEqual(['a', 'b', 'c']);
    coalescer.send(1_000, () => sent.push('d'));
    expect(sent).toHaveLength(3);
    endIteration();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
    endIteration();
    expect(sent).toHaveLength(4);
  });

  test('are sent immediately while iterations have a single one', () => {
    const { coalescer, sent, endIteration } = setUp();
    const send = (name: string): void => coalescer.send(1_000, () => sent.push(name));
    send('a');
    endIteration();
    send('b');
    expect(sent).toEqual(['a', 'b']);
    // Both belong to the iteration of `b`, so they wait for its end.
    send('c');
    send('d');
    expect(sent).toEqual(['a', 'b']);
    endIteration();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
    send('e');
    expect(sent).toHaveLength(4);
    endIteration();
    expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
    send('f');
    expect(sent).toHaveLength(6);
  });

  test('that are large are sent immediately', () => {
    const { coalescer, sent, endIteration } = setUp();
    coalescer.send(10, () => sent.push('small'));
    coalescer.send(1_000_000, () => sent.push('large'));
    expect(sent).toEqual(['large']);
    endIteration();
    expect(sent).toEqual(['large', 'small']);
  });

  test('sent during a flush wait for the next iteration', () => {
    const { coalescer, sent, endIteration } = setUp();
    coalescer.send(1, () => coalescer.send(1, () => sent.push('next')));
    endIteration();
    expect(sent).toEqual([]);
    endIteration();
    expect(sent).toEqual(['next']);
  });
});
