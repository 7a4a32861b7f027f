import { describe, expect, test } from '@jest/globals';
import { LineSplitter, LineTooLongError } from './line-splitter.ts';

const linesOf = (splitter: LineSplitter, ...chunks: string[]): string[] =>
  chunks.flatMap((chunk) => [...splitter.push(Buffer.from(chunk))].map(String));

describe('line splitter', () => {
  test('yields complete lines, however they are split into chunks', () => {
    const splitter = new LineSplitter({ maxBytes: 100 });
    expect(linesOf(splitter, 'a', 'b\nc', 'd', 'e\n\nf\ng')).toEqual(['ab', 'cde', 'f']);
    expect(splitter.partial).toBe(true);
    expect(linesOf(splitter, '\n')).toEqual(['g']);
    expect(splitter.partial).toBe(false);
  });

  test('keeps characters that are split across two chunks', () => {
    const splitter = new LineSplitter({ maxBytes: 100 });
    const bytes = Buffer.from('grün\n');
    const lines = [...splitter.push(bytes.subarray(0, 3)), ...splitter.push(bytes.subarray(3))].map(String);
    expect(lines).toEqual(['grün']);
  });

  test('rejects a line beyond the limit instead of buffering it', () => {
    const splitter = new LineSplitter({ maxBytes: 5 });
    expect(linesOf(splitter, '12345')).toEqual([]);
    expect(() => linesOf(splitter, '6')).toThrow(LineTooLongError);
  });
});
