import { describe, expect, test } from '@jest/globals';
import { AnswerTurns } from './answer-turns.ts';

/** Turns of the event loop that end when the test says so. */
function turns(): { readonly answers: AnswerTurns; readonly sent: string[]; readonly endTurn: () => void } {
  let later: (() => void)[] = [];
  return {
    answers: new AnswerTurns({ later: (run) => later.push(run) }),
    sent: [],
    endTurn: () => {
      const due = later;
      later = [];
      for (const run of due) run();
    },
  };
}

describe('answers of a turn', () => {
  test('leave together at its end, in their order', () => {
    const { answers, sent, endTurn } = turns();
    for (const name of ['a', 'b', 'c']) answers.send(1_000, () => sent.push(name));
    expect(sent).toEqual([]);
    endTurn();
    expect(sent).toEqual(['a', 'b', 'c']);
    answers.send(1_000, () => sent.push('d'));
    expect(sent).toHaveLength(3);
    endTurn();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
    endTurn();
    expect(sent).toHaveLength(4);
  });

  test('wait for nobody while each has its turn to itself', () => {
    const { answers, sent, endTurn } = turns();
    const send = (name: string): void => answers.send(1_000, () => sent.push(name));
    send('a');
    endTurn();
    send('b');
    expect(sent).toEqual(['a', 'b']);
    // Nobody knows yet that others come in this turn; they share its end.
    send('c');
    send('d');
    expect(sent).toEqual(['a', 'b']);
    endTurn();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
    send('e');
    expect(sent).toHaveLength(4);
    endTurn();
    expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
    send('f');
    expect(sent).toHaveLength(6);
  });

  test('that are large wait for nobody', () => {
    const { answers, sent, endTurn } = turns();
    answers.send(10, () => sent.push('small'));
    answers.send(1_000_000, () => sent.push('large'));
    expect(sent).toEqual(['large']);
    endTurn();
    expect(sent).toEqual(['large', 'small']);
  });

  test('what an answer leads to waits for the next turn', () => {
    const { answers, sent, endTurn } = turns();
    answers.send(1, () => answers.send(1, () => sent.push('next')));
    endTurn();
    expect(sent).toEqual([]);
    endTurn();
    expect(sent).toEqual(['next']);
  });
});
