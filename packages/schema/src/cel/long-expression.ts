import { isLongPattern } from '../regex.ts';

/** Characters of an expression that is parsed, checked and compiled within some ten milliseconds. */
const maxInlineLength = 4_000;

/** Whether compiling an expression, or a pattern in it, takes too long for the event loop. */
export const isLongExpression = (source: string): boolean =>
  source.length > maxInlineLength || (source.length > 10 && isLongPattern(source));
