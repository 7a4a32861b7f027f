export interface MergedText {
  readonly text: string;
  /** Places that both changed; the text has what is mine there. */
  readonly conflicts: readonly { readonly line: number; readonly mine: string; readonly theirs: string }[];
}

/** More changed lines than anybody writes by hand; then everything in between counts as changed. */
const maxDifferences = 4000;

/**
 * Joins two changed versions of a text line by line. Where only one side changed something, that is taken; where both did and do not
 * agree, it is a conflict.
 */
export function mergeTexts(base: string, mine: string, theirs: string): MergedText {
  const [a, b, c] = [base.split('\n'), mine.split('\n'), theirs.split('\n')];
  const inMine = matches(a, b);
  const inTheirs = matches(a, c);
  const merged: string[] = [];
  const conflicts: { line: number; mine: string; theirs: string }[] = [];
  let [ia, ib, ic] = [0, 0, 0];
  const take = (toA: number, toB: number, toC: number): void => {
    const [old, own, other] = [a.slice(ia, toA).join('\n'), b.slice(ib, toB), c.slice(ic, toC)];
    const [ownText, otherText] = [own.join('\n'), other.join('\n')];
    const isOwn = ownText === otherText && own.length === other.length;
    const ownChanged = ownText !== old || own.length !== toA - ia;
    const otherChanged = otherText !== old || other.length !== toA - ia;
    if (ownChanged && otherChanged && !isOwn)
      conflicts.push({ line: merged.length + 1, mine: ownText, theirs: otherText });
    merged.push(...(ownChanged ? own : other));
    [ia, ib, ic] = [toA, toB, toC];
  };
  for (let line = 0; line < a.length; line++) {
    const [atMine, atTheirs] = [inMine[line] ?? -1, inTheirs[line] ?? -1];
    if (atMine < ib || atTheirs < ic) continue;
    take(line, atMine, atTheirs);
    merged.push(a[line] ?? '');
    [ia, ib, ic] = [line + 1, atMine + 1, atTheirs + 1];
  }
  take(a.length, b.length, c.length);
  return { text: merged.join('\n'), conflicts };
}

/** For each line of `a` the line of `b` that is the same one, or -1; a longest common subsequence (Myers). */
function matches(a: readonly string[], b: readonly string[]): Int32Array {
  const result = new Int32Array(a.length).fill(-1);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    result[start] = start;
    start++;
  }
  let [endA, endB] = [a.length, b.length];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA--;
    endB--;
    result[endA] = endB;
  }
  const [n, m] = [endA - start, endB - start];
  const limit = Math.min(n + m, maxDifferences);
  const reach = new Int32Array(2 * limit + 3);
  const trace: Int32Array[] = [];
  const at = (k: number): number => k + limit + 1;
  for (let d = 0; d <= limit; d++) {
    trace.push(reach.slice());
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach[at(k - 1)] ?? 0) < (reach[at(k + 1)] ?? 0));
      let x = down ? (reach[at(k + 1)] ?? 0) : (reach[at(k - 1)] ?? 0) + 1;
      while (x < n && x - k < m && a[start + x] === b[start + x - k]) x++;
      reach[at(k)] = x;
      if (x >= n && x - k >= m) {
        walkBack(trace, { d, n, m, at }, (x, y) => (result[start + x] = start + y));
        return result;
      }
    }
  }
  return result;
}

function walkBack(
  trace: readonly Int32Array[],
  {
    d: depth,
    n,
    m,
    at,
  }: { readonly d: number; readonly n: number; readonly m: number; readonly at: (k: number) => number },
  found: (x: number, y: number) => void,
): void {
  let [x, y] = [n, m];
  for (let d = depth; d >= 0; d--) {
    const reach = trace[d];
    if (reach === undefined) return;
    const k = x - y;
    const down = k === -d || (k !== d && (reach[at(k - 1)] ?? 0) < (reach[at(k + 1)] ?? 0));
    const previousK = down ? k + 1 : k - 1;
    const previousX = d === 0 ? 0 : (reach[at(previousK)] ?? 0);
    const previousY = d === 0 ? 0 : previousX - previousK;
    while (x > previousX && y > previousY) {
      x--;
      y--;
      found(x, y);
    }
    [x, y] = [previousX, previousY];
  }
}
